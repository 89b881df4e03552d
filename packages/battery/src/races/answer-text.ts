import type { Answer } from "@kule/api/testing/api-caller";

/** An answer in two words: `202`, `409 name_taken`, `422 /subnet_id conflicts_with`. */
export function answerText({ status, body }: Pick<Answer, "status" | "body">): string {
  const [error] = (body?.errors ?? []) as { pointer: string; code: string }[];
  return [status, ...(error === undefined ? [body?.code] : [error.pointer, error.code])]
    .filter((part) => part !== undefined && part !== null)
    .join(" ");
}

/** How often each answer was given: `253 × 202, 47 × 409 subnet_exhausted`. */
export function tally(answers: readonly Pick<Answer, "status" | "body">[]): string {
  const texts = Map.groupBy(answers.map(answerText), (text) => text);
  return [...texts].map(([text, all]) => `${all.length} × ${text}`).join(", ");
}
