// Reads a CA's JSON: what is not as RFC 8555 says is an answer that cannot be used, never a value.

import { AcmeUnavailable } from "./acme-error.ts";

const MAX_URL_CHARACTERS = 2_048;

export type AnswerObject = Readonly<Record<string, unknown>>;

/** @throws AcmeUnavailable when the text is not a JSON object; all functions here do so for what is missing or too large */
export function readObject(text: string, what: string): AnswerObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable(what, "it is not JSON");
  }
  return asObject(value, what);
}

export function asObject(value: unknown, what: string): AnswerObject {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw unusable(what, "it is no object");
  return value as AnswerObject;
}

export function textField(object: AnswerObject, name: string, what: string, maxCharacters: number): string {
  const value = object[name];
  if (typeof value !== "string" || value === "" || value.length > maxCharacters)
    throw unusable(what, `${name} is no text of at most ${maxCharacters} characters`);
  return value;
}

/** Whether the URL may be asked is decided when it is. */
export function urlField(object: AnswerObject, name: string, what: string): string {
  return asUrl(object[name], `${what}: ${name}`);
}

export function asUrl(value: unknown, what: string): string {
  if (typeof value !== "string" || value.length > MAX_URL_CHARACTERS || !URL.canParse(value))
    throw unusable(what, "it is no URL");
  return value;
}

export function listField(
  object: AnswerObject,
  name: string,
  what: string,
  maxEntries: number,
): readonly unknown[] {
  const value = object[name];
  if (!Array.isArray(value) || value.length > maxEntries)
    throw unusable(what, `${name} is no list of at most ${maxEntries} entries`);
  return value;
}

export function wordField<Word extends string>(
  object: AnswerObject,
  name: string,
  what: string,
  words: readonly Word[],
): Word {
  const word = words.find((each) => each === object[name]);
  if (word === undefined) throw unusable(what, `${name} is none of ${words.join(", ")}`);
  return word;
}

/** Null when it is not there. */
export function dateField(object: AnswerObject, name: string, what: string): Date | null {
  const value = object[name];
  if (value === undefined || value === null) return null;
  const date = typeof value === "string" && value.length <= 64 ? new Date(value) : new Date(Number.NaN);
  if (Number.isNaN(date.getTime())) throw unusable(what, `${name} is no date`);
  return date;
}

export function unusable(what: string, detail: string): AcmeUnavailable {
  return new AcmeUnavailable("bad-answer", what, detail);
}
