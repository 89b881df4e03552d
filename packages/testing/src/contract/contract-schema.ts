import { openapi } from "@kule/contract/generated/openapi";
import { operations } from "@kule/contract/generated/operations";
import type { OperationId, OperationInfo } from "@kule/contract/schemas";

/** The part of JSON Schema that the contract uses. */
export type JsonSchema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
};

export type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: JsonSchema;
};

type Content = { readonly [mediaType: string]: { readonly schema: JsonSchema; readonly example?: unknown } };
type Referable<Value> = Value | { readonly $ref: string };
type Operation = {
  readonly parameters?: readonly Referable<Parameter>[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: { readonly [status: string]: Referable<{ readonly content?: Content }> };
};

const paths = openapi.paths as {
  readonly [path: string]: { readonly parameters?: readonly Referable<Parameter>[] } & {
    readonly [method: string]: Operation;
  };
};

/** Every operation of the contract. */
export function allOperations(): readonly OperationInfo[] {
  return Object.values(operations);
}

/** The schema with its references resolved; keywords next to a `$ref` are kept. */
export function resolved(schema: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  return { ...resolved(component($ref) as JsonSchema), ...beside };
}

/** The schema of an operation's JSON body; null when it takes none. */
export function bodySchema(id: OperationId): JsonSchema | null {
  return operationOf(id).requestBody?.content["application/json"]?.schema ?? null;
}

/** The contract's example of the operation's body. */
export function bodyExample(id: OperationId): unknown {
  return operationOf(id).requestBody?.content["application/json"]?.example;
}

/** Path, query and header parameters, those of the path included. */
export function parametersOf(id: OperationId): readonly Parameter[] {
  const info = operations[id];
  const shared = paths[info.path]?.parameters ?? [];
  return [...shared, ...(operationOf(id).parameters ?? [])].map(
    (parameter) => ("$ref" in parameter ? component(parameter.$ref) : parameter) as Parameter,
  );
}

/** The schema of a JSON answer; null when that status has none. */
export function responseSchema(id: OperationId, status: number): JsonSchema | null {
  const declared = operationOf(id).responses[String(status)];
  if (declared === undefined) return null;
  const response = ("$ref" in declared ? component(declared.$ref) : declared) as { content?: Content };
  return (
    response.content?.["application/json"]?.schema ??
    response.content?.["application/problem+json"]?.schema ??
    null
  );
}

/** The status of success: the first 2xx that is not the answer of a dry run. */
export function successStatus(id: OperationId): number {
  const statuses = operations[id].statuses.filter((status) => status < 300);
  const dryRun = operations[id].queryParameters.includes("dry_run");
  const status = dryRun ? statuses.find((candidate) => candidate !== 200) : statuses[0];
  if (status === undefined) throw new Error(`${id} has no answer of success`);
  return status;
}

/** The types a schema allows; empty means any. */
export function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.type === undefined) return [];
  return typeof schema.type === "string" ? [schema.type] : schema.type;
}

function operationOf(id: OperationId): Operation {
  const { path, method } = operations[id];
  const operation = paths[path]?.[method];
  if (operation === undefined) throw new Error(`the contract has no ${method} ${path}`);
  return operation;
}

function component(reference: string): unknown {
  let value: unknown = openapi;
  for (const part of reference.replace("#/", "").split("/"))
    value = (value as { readonly [key: string]: unknown } | undefined)?.[part];
  if (value === undefined) throw new Error(`the contract has no ${reference}`);
  return value;
}
