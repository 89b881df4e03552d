import { plainFormats } from "./formats.ts";
import { namedPropertyFormat, propertyFormat } from "./property-formats.ts";
import {
  addError,
  defaultKeyOf,
  FormatError,
  type PropertyFormat,
  type PropertyMap,
  type PropertySchema,
  type SchemaErrors,
  splitList,
} from "./property-schema.ts";

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?$/;

function checkType(path: string, type: string | undefined, value: unknown, errors: SchemaErrors): boolean {
  if (type === undefined || type === "any") return true;
  if (type === "array") {
    if (Array.isArray(value)) return true;
    addError(errors, path, "type check ('array') failed");
    return false;
  }
  if (type === "object") {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return true;
    addError(errors, path, "type check ('object') failed");
    return false;
  }
  if (type === "boolean" && typeof value === "boolean") return true;
  if (typeof value === "object" || typeof value === "boolean") {
    const kind = Array.isArray(value) ? "ARRAY" : typeof value === "boolean" ? "JSON::PP::Boolean" : "HASH";
    addError(errors, path, `type check ('${type}') failed - got ${kind}`);
    return false;
  }
  const text = String(value);
  const fits =
    type === "boolean"
      ? text === "0" || text === "1"
      : type === "integer"
        ? INTEGER.test(text)
        : type === "number"
          ? NUMBER.test(text)
          : true;
  if (!fits) addError(errors, path, `type check ('${type}') failed - got '${text}'`);
  return fits;
}

/** Perl's `(?^:...)` groups are JavaScript's plain groups; `$` also matches before a final line feed. */
function anchored(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern.replaceAll("(?^:", "(?:").replaceAll("{,", "{0,")})\\n?$`);
}
const compiled = new Map<string, RegExp>();
function matches(pattern: string, text: string): boolean {
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = anchored(pattern);
    compiled.set(pattern, expression);
  }
  return expression.test(text);
}

function formatProblem(format: string, text: string, path: string): string | undefined {
  try {
    checkFormat(format, text, path);
    return undefined;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    // An exception that carries a map prints it behind its message.
    const details = Object.entries(error.errors ?? {}).map(([key, detail]) => `${key}: ${detail}\n`);
    return `invalid format - ${error.message}${details.join("")}`;
  }
}

function scalarProblem(schema: PropertySchema, text: string, path: string): string | undefined {
  if (schema.format !== undefined) {
    const problem = formatProblem(schema.format, text, path);
    if (problem !== undefined) return problem;
  }
  if (schema.pattern !== undefined && !matches(schema.pattern, text)) {
    return "value does not match the regex pattern";
  }
  if (schema.maxLength !== undefined && text.length > schema.maxLength) {
    return `value may only be ${schema.maxLength} characters long`;
  }
  if (schema.minLength !== undefined && text.length < schema.minLength) {
    return `value must be at least ${schema.minLength} characters long`;
  }
  if (NUMBER.test(text)) {
    if (schema.maximum !== undefined && Number(text) > Number(schema.maximum)) {
      return `value must have a maximum value of ${schema.maximum}`;
    }
    if (schema.minimum !== undefined && Number(text) < Number(schema.minimum)) {
      return `value must have a minimum value of ${schema.minimum}`;
    }
  }
  if (schema.enum !== undefined && !schema.enum.includes(text)) {
    return `value '${text}' does not have a value in the enumeration '${schema.enum.join(", ")}'`;
  }
  return undefined;
}

/** Checks one value against its schema and adds what is wrong to `errors`. */
export function checkProperty(
  value: unknown,
  schema: PropertySchema,
  path: string,
  errors: SchemaErrors,
): void {
  if (schema.alias !== undefined) return;
  if (value === undefined || value === null) {
    if (schema.type !== "null" && !schema.optional) {
      addError(errors, path, "property is missing and it is not optional");
    }
    return;
  }
  if (!checkType(path, schema.type, value, errors)) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) {
      value.forEach((element, index) => {
        checkProperty(element, items, `${path}[${index}]`, errors);
      });
    }
    return;
  }
  const text = value === true ? "1" : value === false ? "0" : String(value);
  const problem = scalarProblem(schema, text, path);
  if (problem !== undefined) addError(errors, path, problem);
}

type Properties = Readonly<Record<string, PropertySchema>>;

const required = new WeakMap<Properties, readonly (readonly [string, PropertySchema])[]>();

/** The required properties. A VM's config has hundreds of properties and nearly all are optional. */
function requiredIn(schema: Properties): readonly (readonly [string, PropertySchema])[] {
  const known = required.get(schema) ?? Object.entries(schema).filter(([, { optional }]) => !optional);
  required.set(schema, known);
  return known;
}

/** Checks an object: aliases renamed to their target, required keys, `requires`, nothing unknown. */
export function checkObject(
  path: string,
  schema: Readonly<Record<string, PropertySchema>>,
  value: Record<string, unknown>,
  errors: SchemaErrors,
  allowUnknown = false,
): void {
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`);
  for (const key of Object.keys(value)) {
    const alias = schema[key]?.alias;
    if (alias === undefined) continue;
    if (value[alias] !== undefined && value[alias] !== null) {
      addError(errors, at(key), `cannot set both '${key}' and its alias target '${alias}'`);
    } else {
      value[alias] = value[key];
      delete value[key];
    }
  }
  for (const [key, property] of requiredIn(schema)) checkProperty(value[key], property, at(key), errors);
  for (const key of Object.keys(value)) {
    const property = Object.hasOwn(schema, key) ? schema[key] : undefined;
    if (property?.optional) checkProperty(value[key], property, at(key), errors);
  }
  for (const key of Object.keys(value)) {
    const property = Object.hasOwn(schema, key) ? schema[key] : undefined;
    if (property === undefined) {
      if (!allowUnknown) {
        addError(
          errors,
          at(key),
          "property is not defined in schema and the schema does not allow additional properties",
        );
      }
      continue;
    }
    const { requires } = property;
    if (requires !== undefined && (value[requires] === undefined || value[requires] === null)) {
      addError(errors, at(requires), `missing property required by '${at(key)}'`);
    }
  }
}

function asBoolean(text: string): string {
  if (/^(1|on|yes|true)$/i.test(text)) return "1";
  if (/^(0|off|no|false)$/i.test(text)) return "0";
  return text;
}

/**
 * Parses `a=1,b=2` against a format. Throws {@link FormatError} with the texts of
 * PVE::JSONSchema::parse_property_string.
 */
export function parsePropertyString(format: string | PropertyFormat, data: string, path = ""): PropertyMap {
  const schema = typeof format === "string" ? namedPropertyFormat(format) : format;
  const result: PropertyMap = {};
  let usedDefault: string | undefined;
  for (const part of data.split(",")) {
    if (/^\s*$/.test(part)) continue;
    const pair = /^([^=]+)=(.+)$/s.exec(part);
    if (pair !== null) {
      let [, key = "", value = ""] = pair;
      if (result[key] !== undefined) {
        throw new FormatError(`duplicate key in comma-separated list property: ${key}\n`);
      }
      let property = Object.hasOwn(schema, key) ? schema[key] : undefined;
      if (property?.alias !== undefined) {
        if (property.keyAlias !== undefined) {
          if (result[property.keyAlias] !== undefined) {
            throw new FormatError(`key alias '${property.keyAlias}' is already defined\n`);
          }
          result[property.keyAlias] = key;
        }
        key = property.alias;
        property = schema[key];
        if (result[key] !== undefined) throw new FormatError(`key '${key}' is already defined (via alias)\n`);
      }
      if (property === undefined) {
        throw new FormatError(`invalid key in comma-separated list property: ${key}\n`);
      }
      if (property.type === "boolean") value = asBoolean(value);
      result[key] = value;
    } else if (part.includes("=")) {
      throw new FormatError("missing key in comma-separated list property\n");
    } else {
      if (usedDefault !== undefined) {
        throw new FormatError(`duplicate key in comma-separated list property: ${usedDefault}\n`);
      }
      usedDefault = defaultKeyOf(schema);
      if (usedDefault === undefined) {
        throw new FormatError("value without key, but schema does not define a default key\n");
      }
      if (result[usedDefault] !== undefined) {
        throw new FormatError(`duplicate key in comma-separated list property: ${usedDefault}\n`);
      }
      result[usedDefault] = schema[usedDefault]?.type === "boolean" ? asBoolean(part) : part;
    }
  }
  const errors: SchemaErrors = {};
  checkObject(path, schema, result, errors);
  if (Object.keys(errors).length > 0) throw new FormatError("format error\n", errors);
  return result;
}

/** Checks one text against a format name ("x", "x-list", "x-opt", "#n"); throws {@link FormatError}. */
export function checkFormat(format: string, text: string, path: string): void {
  const property = propertyFormat(format);
  if (property !== undefined) {
    parsePropertyString(property, text, path);
    return;
  }
  const suffix = /^(.*?)(?:-(list|opt))?$/.exec(format);
  const kind = suffix?.[2];
  const name = kind === undefined ? format : (suffix?.[1] ?? format);
  if (kind === "opt" && text === "") return;
  const check = plainFormats[name];
  if (check === undefined) throw new Error(`the lab's schema uses format '${format}', which nobody wrote`);
  for (const part of kind === "list" ? splitList(text) : [text]) {
    const problem = check(part);
    if (problem !== undefined) throw new FormatError(`${problem}\n`);
  }
}
