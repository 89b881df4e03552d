import fc from "fast-check";
import { type JsonSchema, resolved, typesOf } from "./contract-schema.ts";

/**
 * Values for parameters whose meaning the schema cannot express, such as identifiers of existing resources.
 *
 * @param pointer JSON pointer with `*` for a list's items, e.g. `/ssh_key_ids/*`
 * @returns undefined to generate from the schema
 */
export type Meaning = (pointer: string) => fc.Arbitrary<unknown> | undefined;

/** Values that fit the schema. */
export function validValue(
  schema: JsonSchema,
  meaning: Meaning = () => undefined,
  pointer = "",
): fc.Arbitrary<unknown> {
  const meant = meaning(pointer);
  if (meant !== undefined) return meant;
  const own = resolved(schema);
  if (own.const !== undefined) return fc.constant(own.const);
  if (own.enum !== undefined) return fc.constantFrom(...own.enum);
  if (own.oneOf !== undefined)
    return fc.oneof(...own.oneOf.map((branch) => validValue(branch, meaning, pointer)));
  const types = typesOf(own);
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => ofType(type, own, meaning, pointer)));
}

function ofType(type: string, schema: JsonSchema, meaning: Meaning, pointer: string): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fc.integer({ min: schema.minimum ?? -(2 ** 31), max: schema.maximum ?? 2 ** 31 - 1 });
    case "string":
      return text(schema);
    case "array":
      return list(schema, meaning, pointer);
    case "object":
      return object(schema, meaning, pointer);
    default:
      throw new Error(`no values known of type ${type}`);
  }
}

function text(schema: JsonSchema): fc.Arbitrary<string> {
  const min = schema.minLength ?? 0;
  const max = schema.maxLength ?? 200;
  if (schema.format === "date-time")
    return fc
      .date({ min: new Date("2020-01-01"), max: new Date("2035-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
  const any = ofPattern(schema.pattern, min, Math.min(max, min + 40));
  // The contract counts code points, and text that no column can store is never valid.
  return any.filter((candidate) => {
    const length = [...candidate].length;
    return length >= min && length <= max && candidate.isWellFormed() && !candidate.includes("\0");
  });
}

function ofPattern(pattern: string | undefined, minLength: number, maxLength: number): fc.Arbitrary<string> {
  if (pattern === undefined) return fc.string({ unit: "grapheme", minLength, maxLength });
  // Characters of one class: generated in the right length, because a filter would never end for a long one.
  const characters = /^\^(\[(?:[^\]\\]|\\.)+\])\+\$$/.exec(pattern)?.[1];
  if (characters !== undefined)
    return fc.string({
      unit: fc.stringMatching(new RegExp(`^${characters}$`)),
      minLength: Math.max(1, minLength),
      maxLength,
    });
  return fc.stringMatching(new RegExp(pattern), { size: "xsmall" });
}

function list(schema: JsonSchema, meaning: Meaning, pointer: string): fc.Arbitrary<unknown[]> {
  const item = validValue(schema.items ?? {}, meaning, `${pointer}/*`);
  const minLength = schema.minItems ?? 0;
  const maxLength = Math.min(schema.maxItems ?? 4, minLength + 3);
  return schema.uniqueItems
    ? fc.uniqueArray(item, {
        minLength,
        maxLength,
        comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
      })
    : fc.array(item, { minLength, maxLength });
}

function object(
  schema: JsonSchema,
  meaning: Meaning,
  pointer: string,
): fc.Arbitrary<Record<string, unknown>> {
  const model = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [
      name,
      validValue(property, meaning, `${pointer}/${name}`),
    ]),
  );
  const known = fc.record(model, { requiredKeys: [...(schema.required ?? [])], noNullPrototype: true });
  const rest = schema.additionalProperties;
  const whole =
    typeof rest === "object"
      ? fc
          .tuple(
            known,
            fc.dictionary(text(schema.propertyNames ?? {}), validValue(rest, meaning, `${pointer}/*`), {
              maxKeys: 4,
              noNullPrototype: true,
            }),
          )
          .map(([declared, more]) => ({ ...more, ...declared }))
      : known;
  const least = schema.minProperties ?? 0;
  const enough = least === 0 ? whole : whole.filter((value) => Object.keys(value).length >= least);
  // The first few of those that were generated: which ones there are differs from value to value.
  const most = schema.maxProperties;
  return most === undefined || most > Object.keys(model).length
    ? enough
    : enough.map((value) => Object.fromEntries(Object.entries(value).slice(0, most)));
}
