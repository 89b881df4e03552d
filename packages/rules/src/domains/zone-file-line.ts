import { type Flaw, flawed, type Reading, readAs, shown } from "./problem.ts";
import type { RecordType } from "./record-types.ts";
import type { Entry, EntryDefect, Token } from "./zone-file.ts";

/** The parts of a record's line after its owner. */
export type RecordLine = {
  /** In seconds; null: not given. */
  readonly ttl: number | null;
  /** As written. */
  readonly type: string;
  readonly data: readonly Token[];
};

export type RecordLineRule = "no_type" | "class" | EntryDefect;

/** The longest TTL as text that is looked at. */
const maxTtlTextLength = 30;
const unitSeconds = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3_600],
  ["d", 86_400],
  ["w", 604_800],
]);

const defects: { readonly [Defect in EntryDefect]: readonly [message: string, fix: string] } = {
  unclosed_quote: ["A quote is not closed in its line", 'Add a quote (") at the end of the text'],
  unclosed_parenthesis: [
    "A parenthesis that opens here is not closed",
    "Add ) after the last part of the record",
  ],
  stray_parenthesis: ["A parenthesis is closed that was not opened", "Remove the )"],
  too_many_tokens: ["The record has more than a thousand parts", "Remove a part of it, or add a missing )"],
};

export function defectFlaw(defect: EntryDefect): Flaw<EntryDefect> {
  const [message, fix] = defects[defect];
  return { rule: defect, message, fix };
}

/** Reads `[owner] [ttl] [class] type data`; TTL and class come in either order. */
export function readRecordLine({ tokens, inheritsOwner }: Entry): Reading<RecordLine, RecordLineRule> {
  let at = inheritsOwner ? 0 : 1;
  let ttl: number | null = null;
  let hasClass = false;
  for (; at < tokens.length; at += 1) {
    const text = wordAt(tokens, at);
    const seconds: number | null = ttl === null ? readTtl(text) : null;
    const isClass = !hasClass && /^(in|ch|hs|cs)$/i.test(text);
    if (seconds !== null) ttl = seconds;
    else if (!isClass) break;
    else if (text.toUpperCase() === "IN") hasClass = true;
    else return flawed("class", `The class ${text.toUpperCase()} is not supported`, "Use the class IN");
  }
  const type = wordAt(tokens, at);
  if (type === "") return flawed("no_type", "The line has no type of record", "Enter name, type and value");
  return readAs({ ttl, type, data: tokens.slice(at + 1) });
}

/** Empty when there is none, or a quoted string. */
function wordAt(tokens: readonly Token[], at: number): string {
  const token = tokens[at];
  return token === undefined || token.isQuoted ? "" : token.text;
}

/** Reads a TTL as seconds or with units, `3600` or `1h30m`; null when the text is none. */
export function readTtl(text: string): number | null {
  if (text.length === 0 || text.length > maxTtlTextLength) return null;
  let seconds = 0;
  let digits = "";
  for (const character of text.toLowerCase()) {
    const unit = unitSeconds.get(character);
    if (/\d/.test(character)) digits += character;
    else if (unit === undefined || digits === "") return null;
    else {
      seconds += Number(digits) * unit;
      digits = "";
    }
  }
  return seconds + Number(digits);
}

/** A name of the file as an absolute one. @param origin without its final dot; empty: the root */
export function withOrigin(text: string, origin: string): string {
  if (text === "@") return `${origin}.`;
  if (text.endsWith(".")) return text;
  return origin === "" ? `${text}.` : `${text}.${origin}.`;
}

/** Where in the data of a type the target is; targets may be relative in a file. */
const targetPlaces: { readonly [Type in RecordType]?: number } = { CNAME: 0, MX: 1, NS: 0, PTR: 0, SRV: 3 };

/** The data of a record as the text of a value of the API: absolute targets, TXT in quotes. */
export function valueText(type: RecordType, data: readonly Token[], origin: string): string {
  return data
    .map(({ text, isQuoted }, place) => {
      if (isQuoted || type === "TXT") return `"${text}"`;
      return place === targetPlaces[type] ? withOrigin(text, origin) : text;
    })
    .join(" ");
}

/** The rule of a directive that is not supported, or of one that is written wrongly. */
export type DirectiveRule = "directive" | "origin" | "ttl";

export type Directive =
  | { readonly kind: "origin"; readonly text: string }
  | { readonly kind: "ttl"; readonly seconds: number };

/** Reads `$ORIGIN` and `$TTL`. */
export function readDirective([word, argument, ...more]: readonly Token[]): Reading<
  Directive,
  DirectiveRule
> {
  const name = (word?.text ?? "").slice(0, 20).toUpperCase();
  if (name === "$ORIGIN") {
    if (argument !== undefined && !argument.isQuoted && more.length === 0)
      return readAs({ kind: "origin", text: argument.text });
    return flawed("origin", "$ORIGIN has not one name", "Write $ORIGIN and a name such as example.com.");
  }
  if (name === "$TTL") {
    const seconds = argument === undefined || more.length > 0 ? null : readTtl(argument.text);
    if (seconds !== null) return readAs({ kind: "ttl", seconds });
    return flawed("ttl", "$TTL has not one TTL", "Write $TTL and seconds such as 3600");
  }
  const fixes = new Map([
    ["$INCLUDE", "Put the content of the other file in its place"],
    ["$GENERATE", "Write out the records that it stands for"],
  ]);
  return flawed(
    "directive",
    `${shown(word?.text ?? "")} is not supported`,
    fixes.get(name) ?? "Remove this line",
  );
}
