import { Ajv2020 } from "ajv/dist/2020.js";
import standaloneCode from "ajv/dist/standalone/index.js";
import addFormats from "ajv-formats";
import { build } from "esbuild";
import { flattenOperations, type JsonSchema, type OpenapiDocument, responseOf } from "./openapi-document.ts";

/**
 * Ajv's standalone code for every body, parameter set and response.
 *
 * Ajv's ESM output still calls require() for its runtime helpers, so esbuild bundles it into a file without
 * dependencies. Responses are in a file of their own: only test builds load them.
 *
 * @returns file name to source
 */
export async function bundleValidators(document: OpenapiDocument): Promise<Map<string, string>> {
  const bodies: Record<string, JsonSchema> = {};
  const parameters: Record<string, JsonSchema> = {};
  const responses: Record<string, JsonSchema> = {};
  for (const { id, operation, parameters: declared } of flattenOperations(document)) {
    if (operation.requestBody !== undefined)
      bodies[id] = operation.requestBody.content["application/json"].schema;
    for (const where of ["query", "header"] as const) {
      const own = declared.filter((parameter) => parameter.in === where);
      parameters[`${id}_${where}`] = {
        type: "object",
        additionalProperties: where === "header",
        required: own.filter((p) => p.required).map((p) => nameIn(where, p.name)),
        properties: Object.fromEntries(own.map((p) => [nameIn(where, p.name), p.schema])),
      };
    }
    for (const status of Object.keys(operation.responses)) {
      const content = responseOf(document, operation, status).content;
      const schema = content?.["application/json"]?.schema ?? content?.["application/problem+json"]?.schema;
      if (schema !== undefined) responses[`${id}_${status}`] = schema;
    }
  }
  const payload = { jobPayload: { $ref: "#/components/schemas/JobPayload" } };

  const files = new Map<string, string>();
  const parts = { bodies, parameters, responses, payload };
  for (const [name, schemas] of Object.entries(parts)) {
    const options = {
      coerce: name === "parameters",
      // Users read our own sentences, made of the keywords; only tests read Ajv's, of answers.
      messages: name === "responses",
    };
    files.set(`validate-${name}.js`, await bundle(compile(document, schemas, options)));
    files.set(`validate-${name}.d.ts`, declarations(Object.keys(schemas)));
  }
  return files;
}

const nameIn = (where: "query" | "header", name: string) => (where === "header" ? name.toLowerCase() : name);

function compile(
  document: OpenapiDocument,
  schemas: Record<string, JsonSchema>,
  { coerce, messages }: { readonly coerce: boolean; readonly messages: boolean },
): string {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: false },
    allErrors: true,
    messages,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    strictTypes: false,
    discriminator: true,
    useDefaults: true,
    coerceTypes: coerce ? "array" : false,
    keywords: ["example", "xml", "externalDocs"],
  });
  (addFormats as unknown as (instance: Ajv2020) => void)(ajv);
  // Parameters are as short as a request's headers; their lists are made of single values before items are
  // checked.
  const adapted = (schema: JsonSchema) =>
    coerce ? prepared(schema) : (bounded(prepared(schema)) as JsonSchema);
  for (const [name, schema] of Object.entries(document.components.schemas))
    ajv.addSchema(adapted(schema), `kule:${name}`);
  const exports: Record<string, string> = {};
  // The same code once: most operations have the same headers, and many no query.
  const firstNames = new Map<string, string>();
  const aliases: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    const text = JSON.stringify(schema);
    const first = firstNames.get(text);
    if (first !== undefined) {
      aliases.push(`export { ${first} as ${name} };`);
      continue;
    }
    firstNames.set(text, name);
    ajv.addSchema(adapted(schema), `kule-part:${name}`);
    exports[name] = `kule-part:${name}`;
  }
  return [standalone(ajv, exports), ...aliases].join("\n");
}

const standalone =
  (standaloneCode as unknown as { default?: typeof standaloneCode }).default ??
  (standaloneCode as unknown as (ajv: Ajv2020, refs: Record<string, string>) => string);

/**
 * References point at schema ids; a discriminator's mapping repeats in OpenAPI what the constants already
 * express.
 */
function prepared(schema: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => {
      if (key === "mapping") return undefined;
      return key === "$ref" && typeof value === "string" ? `kule:${value.split("/").at(-1)}` : value;
    }),
  );
}

/**
 * The schema with the members of a list or map checked only when there are not too many. Ajv with `allErrors`
 * would otherwise check every one of a hundred thousand, and copy its list of findings for each.
 */
function bounded(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(bounded);
  if (typeof schema !== "object" || schema === null) return schema;
  const own = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, bounded(value)]),
  ) as JsonSchema;
  if (typeof own.maxItems === "number" && "items" in own) {
    const { items, uniqueItems, ...rest } = own;
    return membersIf(
      { maxItems: own.maxItems },
      { items, ...(uniqueItems === undefined ? {} : { uniqueItems }) },
      rest,
    );
  }
  if (typeof own.maxProperties === "number" && own.properties === undefined) {
    const { propertyNames, additionalProperties, ...rest } = own;
    return membersIf({ maxProperties: own.maxProperties }, { propertyNames, additionalProperties }, rest);
  }
  return own;
}

function membersIf(few: JsonSchema, members: JsonSchema, rest: JsonSchema): JsonSchema {
  if ("if" in rest) throw new Error("a bounded list or map cannot have conditions of its own");
  const given = Object.entries(members).filter(([, schema]) => schema !== undefined);
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  return { ...rest, if: few, then: Object.fromEntries(given) };
}

async function bundle(code: string): Promise<string> {
  const result = await build({
    stdin: { contents: code, resolveDir: import.meta.dirname, loader: "js" },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["main"],
    write: false,
    minifyWhitespace: true,
    minifySyntax: true,
    // With full names esbuild writes each module's path, and the output would depend on where the checkout is.
    minifyIdentifiers: true,
    legalComments: "none",
  });
  return result.outputFiles[0]?.text ?? "";
}

function declarations(names: readonly string[]): string {
  const lines = names.map((name) => `export const ${name}: Validator;`);
  return `export type ValidatorError = {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  readonly message?: string;
  readonly schemaPath: string;
  readonly propertyName?: string;
};
export type Validator = ((data: unknown) => boolean) & { errors?: readonly ValidatorError[] | null };
${lines.join("\n")}
`;
}
