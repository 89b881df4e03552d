import type { Problem } from "../../api.ts";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { Messages } from "../../messages/messages.ts";
import { sentence } from "../../problem-messages.ts";
import { isRecordType } from "./record-query.ts";
import { type RecordValues, recordFields, typedLines } from "./record-values.ts";

/**
 * The API's errors beside the fields of a record set's form; those of values name their line.
 *
 * @returns under `rest` the errors that belong to no field
 */
export function recordProblems(
  problem: Problem,
  messages: Messages,
  typed: RecordValues,
): { readonly fields: FieldProblems; readonly rest: readonly string[] } {
  const fields: Record<string, string[]> = {};
  const rest: string[] = [];
  const lines = typedLines(typed.values);
  for (const { pointer, field: path, code, message } of problem.errors ?? []) {
    const field = fieldOf(pointer);
    const text = sentence(
      messages.locale === "en" ? message : wordsFor(messages, field, code, typed.type),
      messages.locale,
    );
    if (field === null) {
      rest.push(`${path}: ${text}`);
      continue;
    }
    const at = field === "values" ? lines[Number(/values\/(\d+)$/.exec(pointer)?.[1] ?? "NaN")] : undefined;
    // With one value there is nothing to tell apart.
    const where =
      at === undefined || lines.length < 2 ? "" : `${messages.domains.record.line(String(at.line))}: `;
    fields[field] = [...(fields[field] ?? []), `${where}${text}`];
  }
  return { fields, rest };
}

/** The translated code; for a value that is not in its form, an example of one. */
function wordsFor(messages: Messages, field: string | null, code: string, type: string): string {
  const known: Readonly<Record<string, string | undefined>> = messages.fieldErrors;
  const example = isRecordType(type) ? messages.domains.record.valueExamples[type] : undefined;
  const words = known[code] ?? code;
  return field === "values" && code === "invalid_format" && example !== undefined
    ? `${sentence(words, messages.locale)} ${example}`
    : words;
}

/** Of the body of one record set, of several changes, or of the path: `/changes/1/values/0`, `record_name`. */
function fieldOf(pointer: string): string | null {
  const parts = pointer.split("/").map((part) => part.replace(/^record_/, ""));
  return recordFields.find((name) => parts.includes(name)) ?? null;
}
