import type { Problem } from "./api.ts";
import type { FieldProblems } from "./layout/fields.tsx";
import type { Messages } from "./messages/messages.ts";

/**
 * Maps the API's field errors to the fields of a form, in the page's language.
 *
 * @param fieldOf the form's field for a JSON pointer of the body; null assigns the error to the whole form
 * @returns `fields` by name, and under `rest` the errors that belong to no field
 */
export function fieldProblems(
  problem: Problem,
  messages: Messages,
  fieldOf: (pointer: string) => string | null,
): { readonly fields: FieldProblems; readonly rest: readonly string[] } {
  const fields: Record<string, string[]> = {};
  const rest: string[] = [];
  for (const error of problem.errors ?? []) {
    const field = fieldOf(error.pointer);
    const known: string | undefined = messages.fieldErrors[error.code];
    const example = formatExample(error, messages);
    if (example !== null) {
      if (field === null) rest.push(`${error.field}: ${example}`);
      else fields[field] = [...(fields[field] ?? []), example];
      continue;
    }
    // English shows the API's own words, which are more precise; other languages translate the code.
    const text = messages.locale === "en" ? error.message : known;
    const said = sentence(text ?? error.message, messages.locale);
    if (field === null) rest.push(`${error.field}: ${text ?? error.message}`);
    else fields[field] = [...(fields[field] ?? []), said];
  }
  return { fields, rest };
}

type FieldError = NonNullable<Problem["errors"]>[number];

/** An example of the field's format; null where the API's own words are more precise, or no example is known. */
function formatExample(error: FieldError, messages: Messages): string | null {
  if (error.code !== "invalid_format") return null;
  const name = error.pointer.split("/").findLast((part) => part !== "" && !/^\d+$/.test(part)) ?? "";
  // The words of a rule are English, and an example says more than the text of a code; rules of names differ.
  const isRule = !/required format/.test(error.message);
  if (isRule && (messages.locale === "en" || name === "name")) return null;
  return messages.fieldFormats[name] ?? null;
}

/** The text of a refusal: the precondition, translated where its code is sufficient. */
export function conflictText(
  conflict: { readonly name?: string; readonly code: string; readonly message: string },
  messages: Messages,
): string {
  const named = messages.domains.preconditions[conflict.name ?? ""];
  return named ?? messages.conflicts[conflict.code] ?? conflict.message;
}

/** The reasons why a whole form is refused, as text. */
export function problemText(problem: Problem, messages: Messages): string {
  if (problem.precondition !== undefined) return conflictText(problem.precondition, messages);
  return messages.conflicts[problem.code] ?? problem.detail;
}

/** The text beside a field. */
export function sentence(text: string, locale: string): string {
  // A name such as www.shop.example keeps its small letter.
  const isName = /^\S+\.\S/.test(text);
  const said = isName ? text : text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
  return /[.!?\u2026]$/.test(said) ? said : `${said}.`;
}
