import { createHmac } from "node:crypto";
import type { ConsoleContext } from "./console-context.ts";
import { formTokenField } from "./csrf.ts";

/** The posted texts of the named fields. */
export function postedValues<Name extends string>(
  context: ConsoleContext,
  names: readonly Name[],
): Record<Name, string> {
  const form = context.get("form");
  return Object.fromEntries(names.map((name) => [name, (form.get(name) ?? "").trim()])) as Record<
    Name,
    string
  >;
}

/**
 * The form's key together with what was filled in. It makes sending the form again harmless; a form that comes with
 * other contents under the same key, as after the browser's back button, is another request. The digest is keyed,
 * because the API stores the key and a form may hold a password.
 */
export function postedKey(context: ConsoleContext): string {
  const form = context.get("form");
  const key = form.get("idempotency_key");
  if (key === null || key === "") return crypto.randomUUID();
  const contents = [...form].filter(([name]) => name !== "idempotency_key" && name !== formTokenField);
  const digest = createHmac("sha256", context.get("formSecret")).update(`key ${JSON.stringify(contents)}`);
  return `${key}-${digest.digest("hex").slice(0, 16)}`;
}

/**
 * A number that somebody typed, for a body. What is no number goes as it is, so that the API refuses it beside its
 * field: NaN would become null in JSON, and null often means "none" or "no limit".
 */
export function typedNumber(text: string): number {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (text as unknown as number);
}

/** Things that somebody typed into one field, between commas or spaces. */
export function typedList(text: string): string[] {
  return text.split(/[\s,;]+/).filter((each) => each !== "");
}
