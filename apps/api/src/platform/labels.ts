import type { FieldError } from "@kule/contract/field-errors";
import { type LabelChanges, type Labels, mergeLabels } from "@kule/rules/labels/merge";
import { fieldError, Invalid } from "./errors.ts";

/** What is wrong with these changes to these labels, for an operation's `check`. */
export function labelErrors(labels: unknown, changes: LabelChanges | undefined): FieldError[] {
  if (changes === undefined) return [];
  const merged = mergeLabels(labels as Labels, changes);
  return merged.ok ? [] : [fieldError("/labels", "too_long", merged.message)];
}

/**
 * The labels after the changes, as JSON for a jsonb column.
 *
 * @throws Invalid when there would be too many
 */
export function changedLabels(labels: unknown, changes: LabelChanges): string {
  const merged = mergeLabels(labels as Labels, changes);
  if (!merged.ok) throw new Invalid([fieldError("/labels", "too_long", merged.message)]);
  return JSON.stringify(merged.labels);
}
