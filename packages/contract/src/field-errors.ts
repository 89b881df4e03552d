import { cut, type FieldErrorList } from "./field-error-list.ts";
import type { ValidatorError } from "./generated/validate-bodies.js";
import type { Schemas } from "./schemas.ts";

export type FieldError = Schemas["FieldError"];

/** How many findings of the validator are evaluated; the rest is only counted. */
const mostFindings = 2_000;

/** Ajv's findings as the contract's field errors: one per field and code, in the order of the body. */
export function addFindings(list: FieldErrorList, findings: readonly ValidatorError[]): void {
  const looked = findings.length > mostFindings ? findings.slice(0, mostFindings) : findings;
  for (const error of looked) {
    if (isOnlyNotNull(error, looked)) continue;
    const field = toFieldError(error);
    if (field !== null) list.add(field);
  }
  list.leftOut += findings.length - looked.length;
}

/**
 * For a value that may also be null, "must be null" is not an error of its own: the other branch has the real
 * one. Next to it, "must be null" would read as if nothing could be given.
 */
function isOnlyNotNull(error: ValidatorError, errors: readonly ValidatorError[]): boolean {
  if (error.keyword !== "type" || error.params.type !== "null") return false;
  return errors.some(
    (other) =>
      other !== error &&
      other.instancePath.startsWith(error.instancePath) &&
      other.keyword !== "oneOf" &&
      other.keyword !== "anyOf",
  );
}

function toFieldError(error: ValidatorError): FieldError | null {
  const { keyword, params, instancePath } = error;
  // Why a key is not valid; the error of keyword propertyNames names the key itself.
  if (error.propertyName !== undefined) return null;
  const at = (pointer: string, code: FieldError["code"], message: string): FieldError => ({
    field: fieldName(pointer),
    code,
    message,
    pointer: pointer === "" ? "/" : pointer,
  });
  const child = (name: unknown) => `${instancePath}/${escapePointer(cut(String(name), 300))}`;
  switch (keyword) {
    case "required":
      return at(child(params.missingProperty), "required", "is required");
    case "additionalProperties":
    case "unevaluatedProperties":
      return at(
        child(params.additionalProperty ?? params.unevaluatedProperty),
        "unknown_field",
        "is not a field of this request",
      );
    case "propertyNames":
      return at(child(params.propertyName), "invalid_format", "is not a valid key");
    case "type":
      return at(instancePath, "invalid_type", `must be ${typeNames(params.type)}`);
    case "enum":
      return at(instancePath, "not_one_of", `must be one of: ${listOf(params.allowedValues)}`);
    case "const":
      return at(instancePath, "not_one_of", `must be ${JSON.stringify(params.allowedValue)}`);
    case "pattern":
    case "format":
      return at(instancePath, "invalid_format", "does not have the required format");
    case "minLength":
    case "minItems":
      return at(instancePath, "too_short", `must have at least ${params.limit}`);
    case "minProperties":
      return at(instancePath, "too_short", `must name at least ${params.limit} field`);
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return at(instancePath, "too_long", `must have at most ${params.limit}`);
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return at(instancePath, "out_of_range", `must be ${params.comparison} ${params.limit}`);
    case "uniqueItems":
      return at(`${instancePath}/${params.i}`, "duplicate", "is in the list twice");
    case "discriminator":
      return at(instancePath, "not_one_of", "is of an unknown kind");
    // The branches of a oneOf report for themselves; the summary adds nothing a caller could act on.
    case "oneOf":
    case "anyOf":
    case "if":
      return null;
    default:
      return at(instancePath, "invalid_format", "is not valid");
  }
}

/** `/ssh_key_ids/1` as people write it: `ssh_key_ids[1]`. */
export function fieldName(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : name ? `${name}.${part}` : part), "");
}

const escapePointer = (part: string) => part.replaceAll("~", "~0").replaceAll("/", "~1");

const typeNames = (type: unknown) => (Array.isArray(type) ? type.join(" or ") : String(type));

const listOf = (values: unknown) => (Array.isArray(values) ? values.map(String).join(", ") : String(values));
