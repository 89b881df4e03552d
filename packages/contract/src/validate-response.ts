import { operations } from "./generated/operations.ts";
import type { Validator } from "./generated/validate-responses.js";
import * as responseValidators from "./generated/validate-responses.js";
import type { OperationId } from "./schemas.ts";

const responses = responseValidators as unknown as { readonly [name: string]: Validator | undefined };

/**
 * What is wrong with a response, or null. Loaded by test builds only: it contains the compiled schema of
 * every answer.
 */
export function responseDefect(operation: OperationId, status: number, body: unknown): string | null {
  if (!operations[operation].statuses.includes(status))
    return `${operation} answered ${status}, which the contract does not name`;
  const validate = responses[`${operation}_${status}`];
  if (validate === undefined) return null;
  if (validate(body)) return null;
  const findings = (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
  return `${operation} ${status}: ${findings.join("; ")}`;
}
