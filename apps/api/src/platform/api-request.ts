import type { OperationId, OperationInfo, RequestBody, RequestQuery, Schemas } from "@kule/contract/schemas";
import type { Context } from "hono";
import type { Caller, Organisation } from "./caller.ts";
import type { Database } from "./database.ts";
import type { Deps } from "./deps.ts";
import { NotFound, PreconditionFailed } from "./errors.ts";
import { type IdPrefix, isId } from "./ids.ts";
import { etagOf } from "./reply.ts";
import { sourceAddressOf } from "./source-address.ts";

/** What serve() has established about a request; parts are filled in the order of the checks. */
export type Established = {
  caller?: Caller;
  organisation?: Organisation | null;
  query?: unknown;
  headers?: Readonly<Record<string, unknown>>;
  body?: unknown;
  /** The top-level fields of the body as it was sent, the wrong ones too. */
  sentFields?: ReadonlySet<string>;
  bytes?: Uint8Array;
  /** The hash that identifies the request of an Idempotency-Key. */
  requestHash?: Promise<Buffer>;
  /** The organisation that the Idempotency-Key belongs to; empty without one. */
  keyOrganisation?: string;
  /** The actor, when it is known otherwise than by a token (a login). */
  actor?: Schemas["Actor"];
  /** More for the audit row of a refusal. Never secrets. */
  auditDetails?: Readonly<Record<string, unknown>>;
  /** An audit row was written, or none is due (dry run, replay). */
  audited?: boolean;
  checkedGeneration?: boolean;
};

/**
 * One request of one operation. What a handler can reach depends on what has been checked: there is no body before
 * the path's resource was found, and no organisation before the caller was allowed in it.
 */
export class ApiRequest<Id extends OperationId = OperationId> {
  readonly operation: OperationInfo;
  readonly deps: Deps;
  readonly context: Context;
  /** The request id: accepted from the caller or generated here. */
  readonly id: string;
  readonly established: Established = {};

  constructor(deps: Deps, operation: OperationInfo, context: Context, id: string) {
    this.deps = deps;
    this.operation = operation;
    this.context = context;
    this.id = id;
  }

  get db(): Database {
    return this.deps.db;
  }

  get caller(): Caller {
    return established(this.established.caller, "caller");
  }

  /** The acting organisation. */
  get organisation(): Organisation {
    return established(this.established.organisation ?? undefined, "organisation");
  }

  get organisationId(): string {
    return this.organisation.id;
  }

  /** Null for operators who named none, where the operation allows that. */
  get organisationOrNull(): Organisation | null {
    return this.established.organisation ?? null;
  }

  get query(): RequestQuery<Id> {
    return established(this.established.query, "query") as RequestQuery<Id>;
  }

  /** Checked against the contract, defaults filled in. An optional body that was left out is an empty object. */
  get body(): RequestBody<Id> {
    return established(this.established.body, "body") as RequestBody<Id>;
  }

  /** Whether the body had the field, right or wrong: one that is wrong is not missing. For an operation's `check`. */
  hasSent(field: string): boolean {
    return this.established.sentFields?.has(field) === true;
  }

  get dryRun(): boolean {
    return (this.established.query as { dry_run?: boolean } | undefined)?.dry_run === true;
  }

  /** A header of the contract by its name there. */
  header(name: string): string | undefined {
    return this.context.req.header(name);
  }

  /** A part of the path, in any form. */
  pathText(name: string): string {
    return this.context.req.param(name) ?? "";
  }

  /**
   * An identifier in the path.
   *
   * @throws NotFound when it cannot be one: it reads like one that is unknown
   */
  pathId(name: string, prefix: IdPrefix): string {
    const id = this.pathText(name);
    if (!isId(prefix, id)) throw new NotFound();
    return id;
  }

  get idempotencyKey(): string | undefined {
    const key = this.operation.headerParameters.includes("Idempotency-Key")
      ? this.header("Idempotency-Key")
      : undefined;
    return key !== undefined && /^[\x21-\x7e]{1,255}$/.test(key) ? key : undefined;
  }

  /**
   * Checks If-Match against the row that is about to be changed. Call it with the row under its lock, after
   * the last 422 and before the first 409.
   *
   * @throws PreconditionFailed when the caller saw another generation
   */
  checkGeneration(row: { readonly generation: number }): void {
    this.established.checkedGeneration = true;
    const wanted = this.header("If-Match");
    if (wanted === undefined || wanted.trim() === "*") return;
    const current = etagOf(row.generation);
    const tags = wanted.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (!tags.includes(current))
      throw new PreconditionFailed(`the resource is at ${current}; you named ${wanted}. Read it again first`);
  }

  /** The address that the request came from, by our consoles and trusted proxies; null in process. */
  get sourceAddress(): string | null {
    const socket = (this.context.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined)
      ?.incoming?.socket;
    return sourceAddressOf(this.deps.settings, (name) => this.header(name), socket?.remoteAddress ?? null);
  }
}

function established<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new Error(`the ${what} is not established at this point of the request`);
  return value;
}
