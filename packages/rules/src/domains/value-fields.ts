import { flawed, type Reading, readAs, shown } from "./problem.ts";

export type FieldsRule = "value_fields" | "number";

/** The fields of a value that are separated by blanks. */
export const fieldsOf = (text: string): string[] => text.trim().split(/[ \t]+/);

/** Reads a number of up to five digits. @param what its name in the message, such as `priority` */
export function readNumber(text: string, what: string, max: number): Reading<number, "number"> {
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value <= max) return readAs(value);
  return flawed("number", `The ${what} is ${shown(text)}`, `Enter a ${what} from 0 to ${max}`);
}

/** Reads one of a few numbers. */
export function readOneOf<One extends number>(
  text: string,
  what: string,
  allowed: readonly One[],
): Reading<One, "number"> {
  const value = allowed.find((one) => String(one) === text);
  if (value !== undefined) return readAs(value);
  return flawed("number", `The ${what} is ${shown(text)}`, `Enter one of ${allowed.join(", ")} as ${what}`);
}
