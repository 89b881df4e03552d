import { openapi } from "@kule/contract/generated/openapi";

/** The part of a JSON schema that decides which values a field accepts. */
export type FieldSchema = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
};

type Schema = FieldSchema & {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

type Operation = {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
};

const document = openapi as unknown as { readonly paths: Record<string, Record<string, Operation>> };

/**
 * Every field of a request's body that is a text or an integer, by operation and path: `createServer/name`,
 * `createSubnet/dns_servers/-`. A `-` is any element of a list, a `*` any key.
 */
export function contractFields(): Map<string, FieldSchema> {
  const found = new Map<string, FieldSchema>();
  for (const operations of Object.values(document.paths))
    for (const { operationId, requestBody } of Object.values(operations)) {
      const schema = requestBody?.content["application/json"]?.schema;
      if (schema !== undefined) walk(schema, operationId, found);
    }
  return found;
}

function walk(given: Schema, place: string, found: Map<string, FieldSchema>): void {
  const schema = resolved(given);
  for (const branch of [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])])
    walk(branch, place, found);
  const types: readonly (string | undefined)[] = [schema.type].flat();
  if (types.includes("string") || types.includes("integer"))
    found.set(place, { ...found.get(place), ...schema });
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    walk(property, `${place}/${key}`, found);
  if (typeof schema.additionalProperties === "object") walk(schema.additionalProperties, `${place}/*`, found);
  if (schema.items !== undefined) walk(schema.items, `${place}/-`, found);
}

function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const parts = schema.$ref.split("/").slice(1);
  const target = parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], document);
  const { $ref: _, ...own } = schema;
  return { ...resolved(target as Schema), ...own };
}
