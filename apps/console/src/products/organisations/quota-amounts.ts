import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";

type Quota = Schemas["Quota"];

/** People think of memory in GB; the API counts it in MB. */
const mbInGb = 1024;

/** A limit as a field shows it; empty for none. */
export function limitText({ limit, unit }: Pick<Quota, "limit" | "unit">): string {
  if (limit === null) return "";
  return String(unit === "MB" ? limit / mbInGb : limit);
}

/** The limits that were typed, for the API. What is no number goes as it is: the API refuses it beside its field. */
export function typedLimits(
  quotas: readonly Pick<Quota, "name" | "unit">[],
  typed: (name: string) => string,
): RequestBody<"setQuotas">["limits"] {
  return Object.fromEntries(
    quotas.map(({ name, unit }) => {
      const text = typed(name);
      if (text === "") return [name, null];
      const number = typedNumber(text);
      return [name, unit === "MB" && typeof number === "number" ? Math.round(number * mbInGb) : number];
    }),
  );
}
