import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { apiCall } from "./api-call.ts";

/** One operation of the contract, with what goes into its path, query and body. */
export type CalledOperation = {
  readonly operation: OperationId;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>> | URLSearchParams;
  /** Sent as JSON. */
  readonly body?: unknown;
};

const methods = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE" } as const;

/**
 * The call of an operation as a shell command. Method and path come from the contract, so that the command on a page
 * cannot differ from the API.
 *
 * @throws Error when a path parameter is missing
 */
export function operationCall(
  apiUrl: string,
  { operation, path = {}, query, body }: CalledOperation,
): string {
  const info = operations[operation];
  const filled = info.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = path[name];
    if (value === undefined) throw new Error(`${operation} needs ${name}`);
    return encodeURIComponent(value);
  });
  const asked = new URLSearchParams(query).toString();
  return apiCall({
    apiUrl,
    method: methods[info.method],
    path: asked === "" ? filled : `${filled}?${asked}`,
    ...(body === undefined ? {} : { body }),
  });
}

/** The operation's address in the API reference. */
export function referenceAddress(apiUrl: string, operation: OperationId): string {
  return `${apiUrl}/docs#/${operations[operation].tag}/${operation}`;
}
