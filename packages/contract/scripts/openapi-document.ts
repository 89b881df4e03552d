/** The parts of an OpenAPI 3.1 document that the generators read. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: JsonSchema;
};

type Reference = { readonly $ref: string };

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly "x-permission": string;
  readonly "x-audit"?: string;
  /** A question that is too long for a query. */
  readonly "x-reads"?: boolean;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: { readonly "application/json": { readonly schema: JsonSchema } };
  };
  readonly responses: {
    readonly [status: string]: {
      readonly $ref?: string;
      readonly content?: { readonly [mediaType: string]: { readonly schema: JsonSchema } };
    };
  };
};

export type PathItem = {
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly [method: string]: unknown;
};

export type OpenapiDocument = {
  readonly paths: { readonly [path: string]: PathItem };
  readonly components: {
    readonly schemas: { readonly [name: string]: JsonSchema };
    readonly parameters: { readonly [name: string]: Parameter };
    readonly responses: { readonly [name: string]: OpenapiResponse };
  };
};

export type OpenapiResponse = {
  readonly content?: { readonly [mediaType: string]: { readonly schema: JsonSchema } };
};

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

export type FlatOperation = {
  readonly id: string;
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
};

/** Every operation with its parameters resolved, in the order of the document. */
export function flattenOperations(document: OpenapiDocument): readonly FlatOperation[] {
  const flat: FlatOperation[] = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method] as Operation | undefined;
      if (operation === undefined) continue;
      if (!operation.operationId) throw new Error(`${method.toUpperCase()} ${path} has no operationId`);
      if (!operation["x-permission"]) throw new Error(`${operation.operationId} has no x-permission`);
      if (
        method !== "get" &&
        operation["x-permission"].startsWith("agent:") === false &&
        !operation["x-audit"] &&
        !operation["x-reads"]
      )
        throw new Error(`${operation.operationId} changes something but has no x-audit`);
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
        "$ref" in parameter ? resolveParameter(document, parameter.$ref) : parameter,
      );
      flat.push({ id: operation.operationId, method, path, operation, parameters });
    }
  }
  return flat;
}

/** The response of an operation for a status, with a reference followed. */
export function responseOf(document: OpenapiDocument, operation: Operation, status: string): OpenapiResponse {
  const response = operation.responses[status];
  if (response?.$ref === undefined) return response ?? {};
  const name = response.$ref.split("/").at(-1) ?? "";
  const found = document.components.responses[name];
  if (found === undefined) throw new Error(`no response ${response.$ref}`);
  return found;
}

function resolveParameter(document: OpenapiDocument, reference: string): Parameter {
  const name = reference.split("/").at(-1) ?? "";
  const found = document.components.parameters[name];
  if (found === undefined) throw new Error(`no parameter ${reference}`);
  return found;
}
