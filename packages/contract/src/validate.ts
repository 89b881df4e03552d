import { cut, FieldErrorList } from "./field-error-list.ts";
import { addFindings, type FieldError } from "./field-errors.ts";
import type { Validator } from "./generated/validate-bodies.js";
import * as bodyValidators from "./generated/validate-bodies.js";
import * as parameterValidators from "./generated/validate-parameters.js";
import { jobPayload } from "./generated/validate-payload.js";
import type { JobPayload, OperationId, RequestBody } from "./schemas.ts";

const bodies = bodyValidators as unknown as { readonly [name: string]: Validator | undefined };
const parameters = parameterValidators as unknown as { readonly [name: string]: Validator | undefined };

export type Validated<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false;
      /** At most a hundred. */
      readonly errors: FieldError[];
      /** How many more there were. */
      readonly leftOut: number;
    };

/** Checks a body against the contract and fills in its defaults. Lists every offending field, up to a hundred. */
export function validateBody<Id extends OperationId>(
  operation: Id,
  body: unknown,
): Validated<RequestBody<Id>> {
  const validate = bodies[operation];
  if (validate === undefined) throw new Error(`${operation} takes no body`);
  return checked(validate, body);
}

/**
 * Checks and coerces query or header parameters: `limit=20` becomes a number, a single `status` a list.
 * The input object is changed.
 */
export function validateParameters<Value>(
  operation: OperationId,
  where: "query" | "header",
  values: Record<string, unknown>,
): Validated<Value> {
  const validate = parameters[`${operation}_${where}`];
  if (validate === undefined) throw new Error(`no ${where} parameters known of ${operation}`);
  return checked(validate, values);
}

/** Checks a job's payload; an agent refuses one that it does not support. */
export function validateJobPayload(payload: unknown): Validated<JobPayload> {
  return checked(jobPayload, payload);
}

function checked<Value>(validate: Validator, value: unknown): Validated<Value> {
  const fits = validate(value);
  const found = new FieldErrorList();
  if (!fits) addFindings(found, validate.errors ?? []);
  // After the validator, which makes numbers of parameters: `limit=1e309` is infinite only then, and passes it.
  addUnstorable(found, value, "");
  if (fits && found.errors.length === 0) return { ok: true, value: value as Value };
  // Alternatives of which none fits may have no error of their own.
  if (found.errors.length === 0)
    found.add({ field: "", code: "invalid_format", message: "is not valid", pointer: "/" });
  return { ok: false, errors: found.errors, leftOut: found.leftOut };
}

/** Longer names are cut as the pointer grows: thousands of values may be under one name of a megabyte. */
const longestName = 320;

/** Values that no database column can store: NUL, halves of surrogate pairs, infinite numbers. */
function addUnstorable(found: FieldErrorList, value: unknown, pointer: string): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) addAt(found, pointer, "out_of_range", "is not a finite number");
  } else if (typeof value === "string") {
    if (!isText(value)) addAt(found, pointer, "invalid_format", "has characters that are not text");
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) addUnstorable(found, item, `${pointer}/${index}`);
  } else if (typeof value === "object" && value !== null)
    for (const [name, item] of Object.entries(value)) {
      const place = `${pointer}/${cut(name, longestName)}`;
      if (!isText(name)) addAt(found, place, "invalid_format", "has characters that are not text");
      addUnstorable(found, item, place);
    }
}

function addAt(found: FieldErrorList, pointer: string, code: FieldError["code"], message: string): void {
  if (found.isFull) found.leftOut += 1;
  else if (!found.has(pointer || "/"))
    found.add({ field: pointer.split("/").slice(1).join("."), code, message, pointer: pointer || "/" });
}

const isText = (text: string) => text.isWellFormed() && !text.includes("\0");
