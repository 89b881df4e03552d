import type { Problem } from "../../api.ts";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { Messages } from "../../messages/messages.ts";
import { sentence } from "../../problem-messages.ts";
import { type RecordValues, recordFields, typedLines } from "./record-values.ts";
import { recordWords } from "./record-words.ts";

/** Longer values are cut: a key can have thousands of characters. */
const longestShown = 60;

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
  const isEnglish = messages.locale === "en";
  for (const { pointer, field: path, code, message } of problem.errors ?? []) {
    const field = fieldOf(pointer);
    const text = isEnglish
      ? sentence(message, "en")
      : recordWords(messages, { field, code, type: typed.type });
    if (field === null) {
      rest.push(`${path}: ${text}`);
      continue;
    }
    const at = field === "values" ? lines[Number(/values\/(\d+)$/.exec(pointer)?.[1] ?? "NaN")] : undefined;
    const where = [
      // With one value there is nothing to tell apart.
      at === undefined || lines.length < 2 ? "" : messages.domains.record.line(String(at.line)),
      // The API's own words name the value.
      at === undefined || isEnglish ? "" : `“${shortened(at.value)}”`,
    ].filter((part) => part !== "");
    fields[field] = [...(fields[field] ?? []), where.length === 0 ? text : `${where.join(" ")}: ${text}`];
  }
  return { fields, rest };
}

const shortened = (value: string) =>
  value.length > longestShown ? `${value.slice(0, longestShown)}…` : value;

/** Of the body of one record set, of several changes, or of the path: `/changes/1/values/0`, `record_name`. */
function fieldOf(pointer: string): string | null {
  const parts = pointer.split("/").map((part) => part.replace(/^record_/, ""));
  return recordFields.find((name) => parts.includes(name)) ?? null;
}
