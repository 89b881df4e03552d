import { flawed, type Reading, readAs, shown } from "./problem.ts";

export type QuotedTextRule = "text_quotes" | "text_escape" | "text_characters";

/** The bytes of a text in UTF-8. @param text without lone surrogates */
export function utf8Bytes(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) pushUtf8(bytes, character.codePointAt(0) ?? 0);
  return bytes;
}

function pushUtf8(bytes: number[], point: number): void {
  const last = (shift: number) => 0x80 | ((point >> shift) & 0x3f);
  if (point < 0x80) bytes.push(point);
  else if (point < 0x800) bytes.push(0xc0 | (point >> 6), last(0));
  else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), last(6), last(0));
  else bytes.push(0xf0 | (point >> 18), last(12), last(6), last(0));
}

/** One character-string as text in quotes: `\DDD` for bytes outside of printable ASCII. */
export function quoted(bytes: readonly number[]): string {
  return `"${bytes.map(printByte).join("")}"`;
}

function printByte(byte: number): string {
  if (byte < 0x20 || byte > 0x7e) return `\\${String(byte).padStart(3, "0")}`;
  const character = String.fromCharCode(byte);
  return character === '"' || character === "\\" ? `\\${character}` : character;
}

/** Reads strings in quotes with blanks between them, `"one" "two"`, into the bytes of each. */
export function readQuotedStrings(text: string): Reading<number[][], QuotedTextRule> {
  if (!text.isWellFormed())
    return flawed("text_characters", "The text has half of a character", "Enter the text anew");
  const strings: number[][] = [];
  let at = afterBlanks(text, 0);
  while (at < text.length) {
    if (text[at] !== '"')
      return flawed(
        "text_quotes",
        `${shown(text.slice(at))} is outside of the quotes`,
        'Put all of it in quotes, or write \\" for a quote inside of the text',
      );
    const string = readOneString(text, at + 1);
    if (!string.ok) return string;
    strings.push(string.value.bytes);
    at = afterBlanks(text, string.value.end);
  }
  return readAs(strings);
}

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t") at += 1;
  return at;
}

/** @param from the index after the first quote; `end` is the index after the last one */
function readOneString(
  text: string,
  from: number,
): Reading<{ bytes: number[]; end: number }, QuotedTextRule> {
  const bytes: number[] = [];
  let at = from;
  while (at < text.length) {
    if (text[at] === '"') return readAs({ bytes, end: at + 1 });
    if (text[at] === "\\") {
      const decimal = /^\d{3}/.exec(text.slice(at + 1, at + 4))?.[0];
      if (decimal !== undefined) {
        if (Number(decimal) > 255) return wrongEscape(decimal);
        bytes.push(Number(decimal));
        at += 4;
        continue;
      }
      at += 1;
      // A digit after a backslash begins three of them.
      if (/\d/.test(text[at] ?? "")) return wrongEscape(text[at] ?? "");
    }
    const point = text.codePointAt(at);
    if (point === undefined) break;
    pushUtf8(bytes, point);
    at += point > 0xffff ? 2 : 1;
  }
  return flawed("text_quotes", "The text has no quote at its end", 'Add a quote (") at the end');
}

const wrongEscape = (digits: string) =>
  flawed(
    "text_escape",
    `\\${digits} is not a byte`,
    "Write a byte as a backslash and three digits from 000 to 255, and a backslash as \\\\",
  );
