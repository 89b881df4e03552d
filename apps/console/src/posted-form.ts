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
 * The form's key combined with its content. It makes a repeat of the form harmless; a form with other content under the
 * same key, as after the browser's back button, is another request. The digest is keyed, because the API stores the key
 * and a form may contain a password.
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
 * A typed number, for a body. Text that is not a number is passed on unchanged, so that the API refuses it beside its
 * field: NaN would become null in JSON, and null often means "none" or "no limit".
 */
export function typedNumber(text: string): number {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (text as unknown as number);
}

/** The entries of one field, separated by commas or spaces. */
export function typedList(text: string): string[] {
  return text.split(/[\s,;]+/).filter((each) => each !== "");
}
