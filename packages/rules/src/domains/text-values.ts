import { flawed, type Reading, readAs } from "./problem.ts";
import { type QuotedTextRule, quoted, readQuotedStrings, utf8Bytes } from "./quoted-text.ts";

export type TextRule = QuotedTextRule | "text_empty" | "text_too_long";

/** Of one value, without the quotes and escapes. */
export const maxTextBytes = 4_096;
const maxStringBytes = 255;
/** Empty strings have no bytes; their number is limited too. */
const maxStrings = 100;

/**
 * A value of TXT: plain (`v=spf1 -all`), or in quotes as a zone file has it (`"part" "part"`). Longer strings
 * than 255 bytes are split; strings that were given in parts stay in these parts.
 */
export function readTextValue(text: string): Reading<string, TextRule> {
  if (text === "") return flawed("text_empty", "The text is missing", 'Enter "" if an empty text is meant');
  const strings = /^[ \t]*"/.test(text) ? readQuotedStrings(text) : readPlain(text);
  if (!strings.ok) return strings;
  const bytes = strings.value.reduce((sum, string) => sum + string.length, 0);
  if (bytes > maxTextBytes)
    return flawed("text_too_long", `The text has ${bytes} bytes`, `Enter at most ${maxTextBytes} bytes`);
  if (strings.value.length > maxStrings)
    return flawed(
      "text_too_long",
      `The text has ${strings.value.length} parts`,
      `Enter at most ${maxStrings} parts`,
    );
  return readAs(strings.value.flatMap(split).map(quoted).join(" "));
}

function readPlain(text: string): Reading<number[][], TextRule> {
  if (!text.isWellFormed())
    return flawed("text_characters", "The text has half of a character", "Enter the text anew");
  return readAs([utf8Bytes(text)]);
}

/** The string in parts that fit the wire; an empty one is one part. */
function split(string: readonly number[]): (readonly number[])[] {
  const parts = [string.slice(0, maxStringBytes)];
  for (let from = maxStringBytes; from < string.length; from += maxStringBytes)
    parts.push(string.slice(from, from + maxStringBytes));
  return parts;
}
