import type { FieldError } from "@kule/contract/field-errors";
import { fieldError } from "../../platform/errors.ts";
import type { RegionRow } from "./store.ts";

/**
 * The region of a request: the one it names, or the only one its organisation sees. A region of other
 * organisations reads like one that does not exist.
 */
export function chooseRegion(
  visible: readonly RegionRow[],
  wanted: string | undefined,
): { readonly region: RegionRow } | { readonly error: FieldError } {
  if (wanted === undefined) {
    const [only, ...others] = visible;
    if (only !== undefined && others.length === 0) return { region: only };
    return { error: fieldError("/region", "required", "is required: name one of the catalogue's regions") };
  }
  const region = visible.find((each) => each.slug === wanted);
  return region === undefined ? { error: fieldError("/region", "not_found", "no such region") } : { region };
}
