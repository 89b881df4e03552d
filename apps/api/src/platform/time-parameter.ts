import { fieldError, Invalid } from "./errors.ts";

/** The contract's format allows leap seconds, which Date does not represent. */
export function timeOf(parameter: string, text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new Invalid([fieldError(parameter, "invalid_format", "is not a time that can be compared")]);
  return time;
}
