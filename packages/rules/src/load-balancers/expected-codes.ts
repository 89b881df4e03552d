import { flawed, type Reading, readAs, shown } from "../domains/problem.ts";
import { isAllowed } from "./allowed-texts.ts";

export type ExpectedCodesRule = "expected_codes";

/** First and last HTTP status, both included. */
export type CodeRange = { readonly first: number; readonly last: number };

/** Reads `200-299,301`. */
export function readExpectedCodes(text: string): Reading<readonly CodeRange[], ExpectedCodesRule> {
  const wrong = (message: string) =>
    flawed<ExpectedCodesRule>("expected_codes", message, "Enter codes and ranges such as 200-299,301");
  if (!isAllowed("expectedCodes", text))
    return wrong(`${shown(text)} is no list of HTTP status codes from 100 to 599`);
  const ranges = text.split(",").map((part) => {
    const [first = "", last = first] = part.split("-");
    return { first: Number(first), last: Number(last) };
  });
  const reversed = ranges.find(({ first, last }) => first > last);
  if (reversed !== undefined)
    return wrong(`The range ${reversed.first}-${reversed.last} ends before it begins`);
  return readAs(ranges);
}
