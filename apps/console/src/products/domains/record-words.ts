import type { Messages } from "../../messages/messages.ts";
import { sentence } from "../../problem-messages.ts";
import { isRecordType } from "./record-query.ts";

/** What the API says is wrong with a record set. */
type Wrong = { readonly field: string | null; readonly code: string; readonly type: string };

/**
 * What is wrong with a record set and what to do, for languages in which the API has no words of its own. Field, code and
 * type together have few reasons, so the text is chosen by them.
 */
export function recordWords(messages: Messages, { field, code, type }: Wrong): string {
  const { record } = messages.domains;
  const own = record.problems[`${field} ${code} ${type}`] ?? record.problems[`${field} ${code}`];
  if (own !== undefined) return own;
  const known: Readonly<Record<string, string | undefined>> = messages.fieldErrors;
  const general = sentence(known[code] ?? code, messages.locale);
  const example = isRecordType(type) ? record.valueExamples[type] : undefined;
  return field === "values" && code === "invalid_format" && example !== undefined
    ? `${general} ${example}`
    : general;
}
