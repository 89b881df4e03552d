import { cut, FieldErrorList } from "@kule/contract/field-error-list";
import type { FieldError } from "@kule/contract/field-errors";
import type { Schemas } from "@kule/contract/schemas";
import type { Refusal as UnmetPrecondition } from "@kule/rules/decision";
import type { ConflictCode } from "@kule/rules/preconditions";

/** Agents report this often: earlier there is no new report of a region. */
const agentReportSeconds = 20;

export type ErrorCode = Schemas["ErrorCode"];
export type Precondition = Schemas["Precondition"];

/**
 * A reason to refuse a request. Only problem.ts turns these into HTTP; any other error is a bug and answers
 * 500 with nothing but the request id.
 */
export abstract class Refusal extends Error {
  abstract readonly status: number;
  abstract readonly code: ErrorCode;
  /** Members of the problem document beyond the standard ones. */
  extra(): Partial<Schemas["Problem"]> {
    return {};
  }
  headers(): Record<string, string> {
    return {};
  }
}

export class Unauthorized extends Refusal {
  readonly status = 401;
  readonly code = "unauthorized";
  constructor(message = "a valid token is needed: Authorization: Bearer kule_…") {
    super(message);
  }
  override headers() {
    return { "WWW-Authenticate": "Bearer" };
  }
}

export class Forbidden extends Refusal {
  readonly status = 403;
  readonly code = "forbidden";
  readonly required: readonly string[];
  constructor(required: readonly string[], message?: string) {
    super(message ?? `this needs the permission ${required.join(", ")}`);
    this.required = required;
  }
  override extra() {
    return { required: [...this.required] };
  }
}

/** Also for what belongs to others: the answer to both is the same. */
export class NotFound extends Refusal {
  readonly status = 404;
  readonly code = "not_found";
  constructor(message = "no such resource") {
    super(message);
  }
}

export class MethodNotAllowed extends Refusal {
  readonly status = 405;
  readonly code = "method_not_allowed";
  readonly allowed: readonly string[];
  constructor(allowed: readonly string[]) {
    super(`this path takes ${allowed.join(", ")}`);
    this.allowed = allowed;
  }
  override headers() {
    return { Allow: this.allowed.join(", ") };
  }
}

export class Malformed extends Refusal {
  readonly status = 400;
  readonly code = "malformed_json";
}

export class PayloadTooLarge extends Refusal {
  readonly status = 413;
  readonly code = "payload_too_large";
}

/** A range that begins after a file's last byte. */
export class RangeNotSatisfiable extends Refusal {
  readonly status = 416;
  readonly code = "range_not_satisfiable";
  readonly sizeBytes: number;
  constructor(sizeBytes: number) {
    super(`the file has ${sizeBytes} bytes`);
    this.sizeBytes = sizeBytes;
  }
  override headers() {
    return { "Content-Range": `bytes */${this.sizeBytes}` };
  }
}

export class UnsupportedMediaType extends Refusal {
  readonly status = 415;
  readonly code = "unsupported_media_type";
}

/** At most this many findings are written out. */
const mostInWords = 20;
const longestWords = 3_000;

/** The request is wrong; lists the offending fields, and the number of those beyond a hundred. */
export class Invalid extends Refusal {
  readonly status = 422;
  readonly code: ErrorCode;
  readonly errors: readonly FieldError[];
  readonly leftOut: number;
  constructor(errors: readonly FieldError[], code: ErrorCode = "validation_failed", leftOut = 0) {
    const list = new FieldErrorList();
    list.addAll(errors);
    const words = list.errors.slice(0, mostInWords).map((error) => `${error.field} ${error.message}`);
    const more = list.errors.length - words.length + list.leftOut + leftOut;
    super(cut(words.join("; "), longestWords) + (more === 0 ? "" : `; and ${more} more`));
    this.errors = list.errors;
    this.leftOut = list.leftOut + leftOut;
    this.code = code;
  }
  override extra() {
    return {
      errors: [...this.errors],
      ...(this.leftOut === 0 ? {} : { errors_left_out: this.leftOut }),
    };
  }
}

/** If-Match names another generation than the current one. */
export class PreconditionFailed extends Refusal {
  readonly status = 412;
  readonly code = "precondition_failed";
}

/**
 * The request is valid but the state does not allow it; the refusals come from the constructors of the rules.
 */
export class Conflict extends Refusal {
  readonly status = 409;
  readonly code: ConflictCode;
  readonly precondition: UnmetPrecondition;
  readonly currentStatus: string | undefined;

  /** @param currentStatus the status that forbids the action, for `invalid_state` */
  constructor(precondition: UnmetPrecondition, currentStatus?: string) {
    super(precondition.message);
    this.code = precondition.code;
    this.precondition = precondition;
    this.currentStatus = currentStatus;
  }
  override extra() {
    return {
      precondition: this.precondition,
      ...(this.currentStatus === undefined ? {} : { current_status: this.currentStatus }),
    };
  }
}

export class RateLimited extends Refusal {
  readonly status = 429;
  readonly code = "rate_limited";
  readonly retryAfterSeconds: number;
  constructor(retryAfterSeconds: number, message = "too many requests") {
    super(message);
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));
  }
  override headers() {
    return { "Retry-After": String(this.retryAfterSeconds) };
  }
}

/** Something that we depend on is temporarily unreachable. */
export class Unavailable extends Refusal {
  readonly status = 503;
  readonly code = "unavailable";
  readonly retryAfterSeconds: number;
  constructor(
    message = "the service is not available for the moment",
    retryAfterSeconds = 2,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.retryAfterSeconds = retryAfterSeconds;
  }
  override headers() {
    return { "Retry-After": String(this.retryAfterSeconds) };
  }
}

/**
 * A region's agent does not report, and the request needs it now. Requests that can wait for it are accepted
 * and wait.
 */
export class RegionSilent extends Refusal {
  readonly status = 503;
  readonly code = "region_unavailable";
  constructor(region: string) {
    super(`region ${region} does not answer at the moment; try again in a while`);
  }
  override headers() {
    return { "Retry-After": String(agentReportSeconds) };
  }
}

/** One offending field of a body (`pointer` like `/ssh_key_ids/1`) or a parameter (`Kule-Organisation`). */
export function fieldError(pointer: string, code: FieldError["code"], message: string): FieldError {
  if (!pointer.startsWith("/")) return { field: pointer, code, message, pointer };
  const field = pointer
    .slice(1)
    .split("/")
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : name ? `${name}.${part}` : part), "");
  return { field, code, message, pointer };
}
