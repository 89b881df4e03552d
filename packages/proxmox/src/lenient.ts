import type { PveBoolean, PveNumber } from "./generated/api.ts";

/** Perl answers 42 or "42" as it pleases. Anything that is not a number reads as null. */
export function readNumber(value: PveNumber | null | undefined): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Perl answers 1, "1", true, 0, "", or leaves false out. */
export function readBoolean(value: PveBoolean | null | undefined): boolean {
  return value === true || value === 1 || (typeof value === "string" && /^(1|on|yes|true)$/i.test(value));
}
