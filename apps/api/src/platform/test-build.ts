import type { ApiRequest } from "./api-request.ts";
import type { Reply } from "./reply.ts";

/** Statuses of the transport that every operation may answer and the contract does not repeat. */
const transportStatuses = new Set([405, 413, 415]);

/**
 * Checks of an answer that only test builds make: it fits the contract; a mutation wrote its audit row;
 * If-Match was checked against the row that was changed.
 *
 * @throws Error, which answers 500 and fails the test
 */
export async function checkAnswer(request: ApiRequest, answer: Reply | Response): Promise<void> {
  const { operation, established } = request;
  const succeeded = answer.status < 400;
  if (succeeded && operation.permission !== "public" && established.caller === undefined)
    throw new Error(`${operation.id} answered ${answer.status} without knowing who called`);
  if (succeeded && operation.audit !== null && established.audited !== true)
    throw new Error(`${operation.id} changed something and left no audit row`);
  if (
    succeeded &&
    operation.headerParameters.includes("If-Match") &&
    request.header("If-Match") !== undefined &&
    established.checkedGeneration !== true &&
    !request.dryRun
  )
    throw new Error(`${operation.id} took If-Match and never looked at it`);
  if (answer instanceof Response || transportStatuses.has(answer.status)) return;
  const { responseDefect } = await import("@kule/contract/validate-response");
  const body: unknown = answer.body === null ? null : JSON.parse(JSON.stringify(answer.body));
  const defect = responseDefect(operation.id, answer.status, body);
  if (defect !== null) throw new Error(defect);
}
