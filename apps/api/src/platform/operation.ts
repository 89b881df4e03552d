import { AsyncResource } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import { FieldErrorList } from "@kule/contract/field-error-list";
import type { FieldError } from "@kule/contract/field-errors";
import { type AuditAction, operations } from "@kule/contract/generated/operations";
import type { operations as ContractOperations } from "@kule/contract/generated/schema";
import type { OperationId, OperationInfo, RequestBody } from "@kule/contract/schemas";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import { validateBody, validateParameters } from "@kule/contract/validate";
import type { Context } from "hono";
import { ApiRequest } from "./api-request.ts";
import { refusalDetails, writeAudit } from "./audit.ts";
import { authenticate, chooseOrganisation, requirePermission } from "./authorise.ts";
import { crashPoint, hasCrashPoints, withCrashPoints } from "./crash-points.ts";
import { countCreate } from "./create-limit.ts";
import type { Tx } from "./database.ts";
import type { Api } from "./deps.ts";
import { fieldError, Invalid, NotFound, type Refusal } from "./errors.ts";
import { findReplay } from "./idempotency.ts";
import { newId } from "./ids.ts";
import { mutation, type Outcome } from "./mutation.ts";
import { refusalOf, renderProblem } from "./problem.ts";
import type { Reply } from "./reply.ts";
import { etagOf } from "./reply.ts";
import { bodyLimitsOf, parseJson, readBytes } from "./request-body.ts";
import { storableText } from "./storable-text.ts";
import { checkAnswer } from "./test-build.ts";

/*
 * The only way to mount an operation of the contract. It makes the order of checks a matter of structure:
 *
 *   401  authenticate          429  rate limit           403  permission of the contract
 *   422  acting organisation   404  `find`               400, 413, 415  the body is JSON
 *   422  contract and `check`, all fields at once        429  creates of the organisation
 *   412, 409  `mutate` or `handle`
 */

type HasPath<Id extends OperationId> = ContractOperations[Id]["parameters"] extends { path: object }
  ? true
  : false;

type Work<Id extends OperationId, Found> =
  | {
      /** Reads, agents' calls, and mutations that have something to do before their transaction. */
      handle: (request: ApiRequest<Id>, found: Found) => Promise<Reply | Response>;
    }
  | {
      /** Runs in the mutation's transaction (see mutation.ts). */
      mutate: (request: ApiRequest<Id>, tx: Tx, found: Found) => Promise<Outcome>;
    };

export type Handler<Id extends OperationId, Found> = Work<Id, Found> & {
  /**
   * What is wrong with the body beyond the contract. It gets the fields that are valid by the contract, and
   * its findings are answered together with the contract's.
   */
  check?: (
    request: ApiRequest<Id>,
    body: Partial<RequestBody<Id>>,
    found: Found,
  ) => readonly FieldError[] | Promise<readonly FieldError[]>;
  /** Operators may leave Kule-Organisation out. */
  organisation?: "optional";
} & (HasPath<Id> extends true
    ? {
        /** Loads what the path names. Null reads as 404, also for what belongs to others. */
        find: (request: ApiRequest<Id>) => Promise<Found | null>;
      }
    : { find?: never });

/** A handler once its operation's types have done their work. */
type AnyHandler = Work<OperationId, unknown> & {
  check?: (
    request: ApiRequest,
    body: object,
    found: unknown,
  ) => readonly FieldError[] | Promise<readonly FieldError[]>;
  organisation?: "optional";
  find?: (request: ApiRequest) => Promise<unknown>;
};

/** Mounts an operation: its route, its checks, its answer. */
export function operation<Id extends OperationId, Found = undefined>(
  api: Api,
  id: Id,
  handler: Handler<Id, Found>,
): void {
  const info = operations[id];
  const path = info.path.replaceAll(/\{(\w+)\}/g, ":$1");
  api.hono.on(info.method.toUpperCase(), path, (context) =>
    withCrashPoints(api.deps.crash, `api.${id}`, () =>
      answer(api, info, handler as unknown as AnyHandler, context),
    ),
  );
}

async function answer(
  api: Api,
  info: OperationInfo,
  handler: AnyHandler,
  context: Context,
): Promise<Response> {
  const { deps } = api;
  const answered = deps.metrics.beginRequest(info.id);
  const request = new ApiRequest(deps, info, context, requestIdOf(context));
  const headers: Record<string, string> = { ...secureHeaders, "X-Request-Id": request.id };
  let result: Reply | Response;
  try {
    result = await run(request, handler, headers);
    if (deps.settings.testBuild) await checkAnswer(request, result);
  } catch (error) {
    result = await refuse(request, error);
  }
  answered(result.status);
  context.set("operation", info.id);
  return render(result, headers);
}

async function run(
  request: ApiRequest,
  handler: AnyHandler,
  headers: Record<string, string>,
): Promise<Reply | Response> {
  const { operation: info, established } = request;
  await authenticate(request, headers);
  requirePermission(request);
  await chooseOrganisation(request, handler.organisation === "optional");

  if (info.body !== null) established.bytes = await readBytes(request.context.req.raw, bodyLimitsOf(info));
  const key = request.idempotencyKey;
  const replay = key === undefined ? null : await findReplay(request.db, request, key);
  if (replay !== null) return replayed(request, replay);

  let found: unknown;
  if (handler.find !== undefined) {
    found = await handler.find(request);
    if (found === null) {
      // A delete that ran under this key a moment ago, concurrently with this request.
      const late = key === undefined ? null : await findReplay(request.db, request, key);
      if (late !== null) return replayed(request, late);
      throw new NotFound();
    }
  }
  await checkInput(request, handler, found);
  countCreate(request);
  if (info.method === "get") return work(request, handler, found);
  await crashPoint("before-begin");
  const answer = await work(request, handler, found);
  await crashPoint("done");
  onceSent(request.context, () => crashPoint("replied"));
  return answer;
}

function work(request: ApiRequest, handler: AnyHandler, found: unknown): Promise<Reply | Response> {
  return "mutate" in handler
    ? mutation(request, (tx) => handler.mutate(request, tx, found))
    : handler.handle(request, found);
}

/** When the whole answer is with the operating system; never for a request without a socket. */
function onceSent(context: Context, then: () => Promise<void>): void {
  const { outgoing } = (context.env ?? {}) as { outgoing?: ServerResponse };
  if (hasCrashPoints()) outgoing?.once("finish", AsyncResource.bind(then));
}

function replayed(request: ApiRequest, replay: Reply): Reply {
  request.established.audited = true;
  request.established.checkedGeneration = true;
  return replay;
}

/** Query, headers, body and `check`: everything that is wrong with the request, in one answer. */
async function checkInput(request: ApiRequest, handler: AnyHandler, found: unknown): Promise<void> {
  const { operation: info, established } = request;
  const wrong = new FieldErrorList();
  // An operation that documents no 422 has no parameters to be wrong about.
  if (info.statuses.includes(422)) {
    const query = validateParameters(info.id, "query", queryOf(request.context));
    if (query.ok) established.query = query.value;
    else {
      wrong.addAll(query.errors.map((error) => ({ ...error, pointer: error.field })));
      wrong.leftOut += query.leftOut;
    }
    wrong.addAll(headerErrors(request));
  } else established.query = {};

  let draft: Record<string, unknown> = {};
  if (info.body !== null) {
    const bytes = established.bytes ?? new Uint8Array();
    const isLeftOut = info.body === "optional" && bytes.length === 0;
    const json = isLeftOut ? {} : parseJson(bytes, request.context.req.raw.headers, bodyLimitsOf(info));
    established.sentFields = new Set(typeof json === "object" && json !== null ? Object.keys(json) : []);
    const body = validateBody(info.id, json);
    if (body.ok) established.body = body.value;
    else {
      wrong.addAll(body.errors);
      wrong.leftOut += body.leftOut;
    }
    draft = rightFields(json, body.ok ? [] : body.errors);
  }
  // Which fields are valid is known only when no error was left out.
  if (handler.check !== undefined && wrong.leftOut === 0) {
    const { errors, leftOut } = await checked(handler.check, request, draft, found);
    wrong.addAll(errors);
    wrong.leftOut += leftOut;
  }
  if (wrong.errors.length > 0) throw new Invalid(wrong.errors, "validation_failed", wrong.leftOut);
}

/** A check of bulk input throws what is wrong, with the number of errors that it did not keep. */
async function checked(
  check: NonNullable<AnyHandler["check"]>,
  ...input: Parameters<NonNullable<AnyHandler["check"]>>
): Promise<Pick<Invalid, "errors" | "leftOut">> {
  try {
    return { errors: await check(...input), leftOut: 0 };
  } catch (error) {
    if (error instanceof Invalid) return error;
    throw error;
  }
}

/** The top-level fields of a body without an error by the contract. */
function rightFields(json: unknown, errors: readonly FieldError[]): Record<string, unknown> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return {};
  const wrong = new Set(errors.map((error) => error.pointer.split("/")[1]));
  return Object.fromEntries(Object.entries(json).filter(([name]) => !wrong.has(name)));
}

function headerErrors(request: ApiRequest): FieldError[] {
  const given: Record<string, unknown> = {};
  const canonical = new Map<string, string>();
  for (const name of request.operation.headerParameters) {
    const value = request.header(name);
    if (value === undefined) continue;
    given[name.toLowerCase()] = value;
    canonical.set(name.toLowerCase(), name);
  }
  const checked = validateParameters(request.operation.id, "header", given);
  if (checked.ok) return [];
  return checked.errors.map((error) =>
    fieldError(canonical.get(error.field) ?? error.field, error.code, error.message),
  );
}

function queryOf(context: Context): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(context.req.queries()))
    Object.defineProperty(query, name, {
      value: values.length === 1 ? values[0] : values,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return query;
}

const auditedStatuses = new Set([400, 403, 404, 409, 412, 413, 415, 422]);
/**
 * A call that an agent's token may not make, or one for another region: 403, and 404 for another region's
 * job.
 */
const agentRefusal = { action: "agent.refused" as const, statuses: new Set([403, 404]) };

/**
 * Turns an error into its problem document, and audits refused mutations outside of the transaction that was
 * rolled back.
 */
async function refuse(request: ApiRequest, error: unknown): Promise<Reply> {
  const { deps, operation: info } = request;
  const refusal = refusalOf(error);
  const problem = renderProblem(error, { requestId: request.id, path: request.context.req.path });
  if (refusal === null) deps.log.error({ err: error, requestId: request.id, operation: info.id }, "a bug");
  else if (refusal.status === 503)
    deps.log.warn({ err: error, requestId: request.id, operation: info.id }, "a dependency is unavailable");
  const action = auditActionOf(request, refusal);
  if (action !== null) {
    const lastId = Object.values(request.context.req.param()).at(-1);
    await writeAudit(deps.db, request, {
      action,
      resource: lastId === undefined ? null : storableText(lastId.slice(0, 100)),
      outcome: refusal === null ? "failed" : "refused",
      httpStatus: problem.status,
      code: problem.body.code,
      details: refusalDetails(request, refusal),
    }).catch((failure: unknown) =>
      deps.log.error(
        { err: failure, requestId: request.id },
        "a refusal could not be noted in the audit trail",
      ),
    );
  }
  if (deps.settings.testBuild && refusal !== null)
    await checkAnswer(request, problem).catch((defect: unknown) => {
      deps.log.error({ err: defect, requestId: request.id }, "the answer does not match the contract");
      throw defect;
    });
  return problem;
}

/** Under which action a refusal is noted, or null when it is not. */
function auditActionOf(
  { operation: info, established: { caller } }: ApiRequest,
  refusal: Refusal | null,
): AuditAction | SystemAuditAction | null {
  if (caller === undefined && info.permission !== "public") return null;
  if (info.audit !== null) {
    const isNoted =
      refusal === null ||
      auditedStatuses.has(refusal.status) ||
      (info.permission === "public" && refusal.status === 401);
    return isNoted ? info.audit : null;
  }
  const isAgents = info.tag === "agent" || caller?.kind === "agent";
  return isAgents && refusal !== null && agentRefusal.statuses.has(refusal.status)
    ? agentRefusal.action
    : null;
}

const secureHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

function render(result: Reply | Response, headers: Record<string, string>): Response {
  if (result instanceof Response) {
    for (const [name, value] of Object.entries(headers))
      if (!result.headers.has(name)) result.headers.set(name, value);
    return result;
  }
  const all: Record<string, string> = { ...headers, ...result.headers };
  if (result.status === 204 || result.body === null)
    return new Response(null, { status: result.status, headers: all });
  const generation = (result.body as { generation?: unknown }).generation;
  if (typeof generation === "number" && all.ETag === undefined) all.ETag = etagOf(generation);
  all["Content-Type"] ??= "application/json";
  return new Response(JSON.stringify(result.body), { status: result.status, headers: all });
}

/** A caller's request id, if it is one that can be logged as it is. */
export function requestIdOf(context: Context): string {
  const given = context.req.header("X-Request-Id");
  return given !== undefined && /^[A-Za-z0-9._-]{1,100}$/.test(given) ? given : newId("req");
}
