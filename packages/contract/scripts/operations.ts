import { flattenOperations, type OpenapiDocument, type Parameter } from "./openapi-document.ts";

/** The operations table: what the API must authorise and audit, and what the checks of meaning walk over. */
export function renderOperations(document: OpenapiDocument): string {
  const entries = flattenOperations(document).map(({ id, method, path, operation, parameters }) => {
    const names = (where: Parameter["in"]) => parameters.filter((p) => p.in === where).map((p) => p.name);
    const value = {
      id,
      method,
      path,
      tag: operation.tags[0] ?? "",
      permission: operation["x-permission"],
      audit: operation["x-audit"] ?? null,
      pathParameters: names("path"),
      queryParameters: names("query"),
      headerParameters: names("header"),
      body:
        operation.requestBody === undefined ? null : operation.requestBody.required ? "required" : "optional",
      statuses: Object.keys(operation.responses).map(Number),
    };
    return `  ${id}: ${JSON.stringify(value)},`;
  });
  const actions = [
    ...new Set(flattenOperations(document).flatMap(({ operation }) => operation["x-audit"] ?? [])),
  ].sort();
  return `/** What is known of one operation of the contract. */
export type OperationInfo = {
  readonly id: OperationId;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly path: string;
  readonly tag: string;
  /** \`public\`, \`authenticated\` or the permission the caller needs. */
  readonly permission: string;
  /** The audit action; null for reads and for the agent's calls. */
  readonly audit: AuditAction | null;
  readonly pathParameters: readonly string[];
  readonly queryParameters: readonly string[];
  readonly headerParameters: readonly string[];
  readonly body: "required" | "optional" | null;
  readonly statuses: readonly number[];
};

export type OperationId =
${flattenOperations(document)
  .map(({ id }) => `  | "${id}"`)
  .join("\n")};

/** What the audit trail calls the operations that change something. */
export type AuditAction =
${actions.map((action) => `  | "${action}"`).join("\n")};

/** Every operation of the contract by its operationId. */
export const operations: { readonly [id in OperationId]: OperationInfo } = {
${entries.join("\n")}
};
`;
}
