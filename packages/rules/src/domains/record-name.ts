import { isInside } from "./domain-name.ts";
import { characters, type LabelRule, lengthFlaw, nameFlaw, toAscii } from "./name-labels.ts";
import { type Flaw, inField, type Problem, shown } from "./problem.ts";

export type RecordNameRule = LabelRule | "empty_name" | "outside_zone" | "wildcard";

export type RecordNameReading =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly problem: Problem<RecordNameRule> };

/** The name of the record sets of the zone itself. */
export const apexName = "@";

/**
 * Reads the name of a record set: relative to the zone (`@`, `www`, `*.dev`), or absolute with a final dot.
 *
 * A text without a final dot is relative even if it ends with the zone's name: what this answers can be read
 * again and is the same.
 *
 * @param zone the canonical name of the domain
 * @returns the relative name in lower case and ASCII, or the first problem, in the field `name`
 */
export function readRecordName(text: string, zone: string): RecordNameReading {
  const flaw = textFlaw(text);
  if (flaw !== null) return { ok: false, problem: inField("name", flaw) };
  const ascii = toAscii(text);
  if (ascii === null) return { ok: false, problem: inField("name", characters(text, "record")) };
  // Only alone does the sign stand for the domain.
  if (ascii.startsWith(`${apexName}.`))
    return { ok: false, problem: inField("name", characters(apexName, "record")) };
  const name = ascii.endsWith(".") ? relativeName(ascii, zone) : ascii;
  if (name === null) return { ok: false, problem: inField("name", outside(text, zone)) };
  const wrong = relativeFlaw(name, zone);
  return wrong === null ? { ok: true, name } : { ok: false, problem: inField("name", wrong) };
}

function textFlaw(text: string): Flaw<RecordNameRule> | null {
  if (text !== "") return null;
  return {
    rule: "empty_name",
    message: "The name of the record set is missing",
    fix: "Enter @ for the domain itself",
  };
}

function outside(text: string, zone: string): Flaw<RecordNameRule> {
  return {
    rule: "outside_zone",
    message: `${shown(text)} is not in the domain ${zone}`,
    fix: `Enter a name relative to the domain, such as www, or one that ends with .${zone}.`,
  };
}

function relativeFlaw(name: string, zone: string): Flaw<RecordNameRule> | null {
  if (name === apexName) return null;
  const labels = name.split(".");
  const rest = labels[0] === "*" ? labels.slice(1) : labels;
  if (rest.some((label) => label.includes("*")))
    return {
      rule: "wildcard",
      message: `${shown(name)} has a star that is not the whole first part of the name`,
      fix: "Enter a name such as * or *.dev",
    };
  const flaw = rest.length === 0 ? null : nameFlaw(rest.join("."), "record");
  return flaw ?? lengthFlaw(absoluteName(name, zone).length - 1);
}

/** The absolute name with its final dot: `www` in `example.com` is `www.example.com.`. */
export function absoluteName(name: string, zone: string): string {
  return name === apexName ? `${zone}.` : `${name}.${zone}.`;
}

/** The relative name of an absolute one in lower case with its final dot; null when it is outside of the zone. */
export function relativeName(absolute: string, zone: string): string | null {
  const name = absolute.slice(0, -1);
  if (!isInside(name, zone)) return null;
  return name === zone ? apexName : name.slice(0, -zone.length - 1);
}
