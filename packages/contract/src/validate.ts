import { type FieldError, fieldErrors } from "./field-errors.ts";
import type { Validator } from "./generated/validate-bodies.js";
import * as bodyValidators from "./generated/validate-bodies.js";
import * as parameterValidators from "./generated/validate-parameters.js";
import { jobPayload } from "./generated/validate-payload.js";
import type { JobPayload, OperationId, RequestBody } from "./schemas.ts";

const bodies = bodyValidators as unknown as { readonly [name: string]: Validator | undefined };
const parameters = parameterValidators as unknown as { readonly [name: string]: Validator | undefined };

export type Validated<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly errors: FieldError[] };

/** Checks a body against the contract and fills in its defaults. Lists every offending field. */
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

/** Checks a job's payload; an agent refuses to act on one that is not what it knows. */
export function validateJobPayload(payload: unknown): Validated<JobPayload> {
  return checked(jobPayload, payload);
}

function checked<Value>(validate: Validator, value: unknown): Validated<Value> {
  const fits = validate(value);
  // After the validator, which makes numbers of parameters: `limit=1e309` is infinite only then, and passes it.
  const more = unstorable(value);
  if (fits && more.length === 0) return { ok: true, value: value as Value };
  const errors = [...fieldErrors(fits ? [] : (validate.errors ?? []))];
  for (const error of more) if (!errors.some((known) => known.pointer === error.pointer)) errors.push(error);
  return { ok: false, errors };
}

/** What no database column can hold: NUL, halves of surrogate pairs, numbers without end. */
function unstorable(value: unknown, pointer = ""): FieldError[] {
  if (typeof value === "number") {
    if (Number.isFinite(value)) return [];
    const field = pointer.split("/").slice(1).join(".");
    return [{ field, code: "out_of_range", message: "is not a finite number", pointer: pointer || "/" }];
  }
  if (typeof value === "string") {
    if (value.isWellFormed() && !value.includes("\0")) return [];
    const field = pointer.split("/").slice(1).join(".");
    return [
      { field, code: "invalid_format", message: "has characters that are not text", pointer: pointer || "/" },
    ];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => unstorable(item, `${pointer}/${index}`));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, item]) => [
      ...unstorable(key, `${pointer}/${key}`),
      ...unstorable(item, `${pointer}/${key}`),
    ]);
  return [];
}
