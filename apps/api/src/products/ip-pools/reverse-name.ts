import type { FieldError } from "@kule/contract/field-errors";
import { readReversePattern } from "@kule/rules/domains/reverse-pattern";
import type { IpVersion } from "@kule/rules/public-ips/addresses";
import { fieldError } from "../../platform/errors.ts";
import type { IpPoolRow } from "./store.ts";

/** What is wrong with the pattern of a body; nothing where there is none. */
export function reverseNameErrors(pattern: string | null | undefined, version: IpVersion): FieldError[] {
  if (pattern == null) return [];
  const reading = readReversePattern(pattern, version);
  if (reading.ok) return [];
  const { rule, message, fix } = reading.flaw;
  const code = rule === "name_too_long" || rule === "label_too_long" ? "too_long" : "invalid_format";
  return [fieldError("/reverse_name", code, `${message}. ${fix}`)];
}

/** The pattern as it is stored. It has passed `reverseNameErrors`. */
export function storedReverseName(pattern: string | null, version: IpVersion): string | null {
  if (pattern === null) return null;
  const reading = readReversePattern(pattern, version);
  if (!reading.ok) throw new Error(`the check let ${reading.flaw.message} pass`);
  return reading.value;
}

export const versionOf = ({ version }: Pick<IpPoolRow, "version">): IpVersion => (version === 4 ? 4 : 6);
