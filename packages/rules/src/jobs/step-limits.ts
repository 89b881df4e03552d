/**
 * The maximum of stored steps of a job. Eight attempts that each observe ten times in a region that keeps
 * changing have fewer; steps beyond it are not stored, and the report counts all the same: an honest agent
 * never loses an outcome by it.
 */
export const maxStepsOfJob = 500;

/** Most characters of a step's text that are kept. */
export const maxStepTextLength = 1_000;

/** The text as it is kept: cut with a sign of it. */
export function keptStepText(text: string | null): string | null {
  if (text === null || text.length <= maxStepTextLength) return text;
  // Not between the two halves of a character.
  return `${text.slice(0, maxStepTextLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
