import type { ConsoleContext } from "./console-context.ts";

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

/** The form's key, which makes sending it again harmless. */
export function postedKey(context: ConsoleContext): string {
  return context.get("form").get("idempotency_key") || crypto.randomUUID();
}

/**
 * A number that somebody typed, for a body. What is no number goes as it is, so that the API refuses it beside its
 * field: NaN would become null in JSON, and null often means "none" or "no limit".
 */
export function typedNumber(text: string): number {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (text as unknown as number);
}
