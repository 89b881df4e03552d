import { createHash } from "node:crypto";
import { idempotencyInProgress } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "./api-request.ts";
import { type Database, systemQuery, type Tx } from "./database.ts";
import { isLockTimeout } from "./database-errors.ts";
import { Conflict, fieldError, Invalid } from "./errors.ts";
import { slowDigest } from "./passwords.ts";
import type { Reply } from "./reply.ts";
import { storableText } from "./storable-text.ts";
import { sendAhead } from "./transaction.ts";

/*
 * A key belongs to one caller, method and path, and is stored in the transaction of its effect: both exist
 * together or not at all, so a client that lost the answer (even to COMMIT) can always repeat the request.
 * Only answers with an effect are stored; a refusal is evaluated again.
 */

const keptFor = sql<Date>`now() - interval '24 hours'`;

/**
 * The stored answer of this key, or null.
 *
 * @throws Invalid `idempotency_key_reused` when the key was used for another request
 */
export async function findReplay(
  connection: Database | Tx,
  request: ApiRequest,
  key: string,
): Promise<Reply | null> {
  const scope = scopeOf(request, key);
  const asked = await hashOf(request);
  const record = await keysOf(connection)
    .selectFrom("idempotency_key")
    .select(["request_hash", "status", "headers", "body"])
    .where("organisation_id", "=", scope.organisation_id)
    .where("subject", "=", scope.subject)
    .where("method", "=", scope.method)
    .where("path", "=", scope.path)
    .where("key", "=", scope.key)
    .where("created_at", ">=", keptFor)
    .executeTakeFirst();
  if (record === undefined) return null;
  if (!asked.equals(record.request_hash)) {
    const error = fieldError("Idempotency-Key", "duplicate", "was used for another request; take a new key");
    throw new Invalid([error], "idempotency_key_reused");
  }
  return {
    status: record.status,
    body: record.body,
    headers: { ...(record.headers as Record<string, string>), "Idempotency-Replayed": "true" },
  };
}

/**
 * Reserves the key for this transaction. A concurrent request with the same key waits here for the first one
 * to end, and then replays its answer.
 *
 * @returns the stored answer when another request was first, null when the key is ours now
 */
export async function takeKey(tx: Tx, request: ApiRequest, key: string): Promise<Reply | null> {
  const values = { request_hash: await hashOf(request), status: 0, headers: "{}", body: null };
  const taken = await keysOf(tx)
    .insertInto("idempotency_key")
    .values({ ...scopeOf(request, key), ...values })
    .onConflict((on) =>
      on
        .columns(["organisation_id", "subject", "method", "path", "key"])
        .doUpdateSet({ ...values, created_at: sql<Date>`now()` })
        .where("idempotency_key.created_at", "<", keptFor),
    )
    .returning("key")
    .executeTakeFirst()
    .catch((error: unknown) => {
      if (!isLockTimeout(error)) throw error;
      throw new Conflict(
        idempotencyInProgress("idempotency_key_free", "a request with this key is still running", {
          fix: "ask again with the same key in a few seconds",
        }),
      );
    });
  return taken === undefined ? findReplay(tx, request, key) : null;
}

/** Stores the answer without its secrets. */
export function storeAnswer(
  tx: Tx,
  request: ApiRequest,
  key: string,
  answer: Reply,
  secretFields: readonly string[],
): void {
  const body = withoutSecrets(answer.body, secretFields);
  const scope = scopeOf(request, key);
  const stored = keysOf(tx)
    .updateTable("idempotency_key")
    .set({
      status: answer.status,
      headers: JSON.stringify(answer.headers ?? {}),
      body: body === null ? null : JSON.stringify(body),
    })
    .where("organisation_id", "=", scope.organisation_id)
    .where("subject", "=", scope.subject)
    .where("method", "=", scope.method)
    .where("path", "=", scope.path)
    .where("key", "=", scope.key);
  sendAhead(tx, stored);
}

function withoutSecrets(body: unknown, secretFields: readonly string[]): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const held = body as Record<string, unknown>;
  const shown = secretFields.filter((name) => held[name] !== null && held[name] !== undefined);
  if (shown.length === 0) return body;
  return { ...held, ...Object.fromEntries(shown.map((name) => [name, null])), secret_withheld: true };
}

/**
 * The organisation is the one in which the request was asked, before its handler: a repetition is looked up there,
 * also where the handler acts in another one (whoever leaves an organisation may be signed in to another).
 */
function scopeOf(request: ApiRequest, key: string) {
  request.established.keyOrganisation ??= request.organisationOrNull?.id ?? "";
  return {
    organisation_id: request.established.keyOrganisation,
    subject: request.caller.subject,
    method: request.context.req.method,
    path: storableText(request.context.req.path),
    key,
  };
}

/**
 * Of the bytes as sent and the query: a repeated request has the same bytes. Computed once, before the
 * transaction.
 */
function hashOf(request: ApiRequest): Promise<Buffer> {
  request.established.requestHash ??= makeHash(request);
  return request.established.requestHash;
}

async function makeHash(request: ApiRequest): Promise<Buffer> {
  const url = request.context.req.url;
  const query = url.includes("?") ? url.slice(url.indexOf("?") + 1) : "";
  const digest = createHash("sha256")
    .update(`${query.length}:${query}`)
    .update(request.established.bytes ?? "")
    .digest();
  // Requests about signing in have passwords in their bodies. A fast digest of one would be easier to guess
  // against than the slow hash in app_user.
  if (request.operation.permission !== "session") return digest;
  const { subject } = request.caller;
  return slowDigest(digest, createHash("sha256").update(`${subject} ${request.idempotencyKey}`).digest());
}

function keysOf<Connection extends Database | Tx>(connection: Connection): Connection {
  return systemQuery(connection, "idempotency keys of callers without an organisation");
}
