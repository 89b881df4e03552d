import { organisationSuspended } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "./api-request.ts";
import { requestDetails, writeAudit } from "./audit.ts";
import { crashPoint } from "./crash-points.ts";
import type { Tx } from "./database.ts";
import { isCollision } from "./database-errors.ts";
import { Conflict } from "./errors.ts";
import { storeAnswer, takeKey } from "./idempotency.ts";
import type { Reply } from "./reply.ts";
import { inTransaction, sendAhead } from "./transaction.ts";

export type Outcome = {
  readonly reply: Reply;
  /** Id of what was changed, for the audit trail. */
  readonly resource: string | null;
  /** More for the audit trail than the body that was sent. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Top-level fields of the answer that a replay must not contain. */
  readonly secretFields?: readonly string[];
};

export type MutationOptions = {
  /** Allowed in a suspended organisation too: it only releases something. */
  readonly evenIfSuspended?: boolean;
};

/** Carries the answer of a dry run out of the transaction that it undoes. */
class DryRun extends Error {
  readonly reply: Reply;
  constructor(reply: Reply) {
    super("dry run");
    this.reply = reply;
  }
}

const maxAttempts = 3;

/**
 * Runs `work` in one transaction with the row-level security of the acting organisation, the idempotency
 * record, and the audit row. A conflict with another transaction runs all of it again, so `work` must change
 * nothing outside of the transaction.
 *
 * With `dry_run` the same work is done and rolled back.
 */
export async function mutation(
  request: ApiRequest,
  work: (tx: Tx) => Promise<Outcome>,
  options: MutationOptions = {},
): Promise<Reply> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptMutation(request, work, options);
    } catch (error) {
      if (error instanceof DryRun) {
        request.established.audited = true;
        return error.reply;
      }
      if (attempt >= maxAttempts || !isCollision(error)) throw error;
    }
  }
}

function attemptMutation(
  request: ApiRequest,
  work: (tx: Tx) => Promise<Outcome>,
  options: MutationOptions,
): Promise<Reply> {
  const key = request.dryRun ? undefined : request.idempotencyKey;
  return inTransaction(request.db, async (tx) => {
    const organisation = request.organisationOrNull;
    if (organisation !== null) actAs(tx, organisation.id);
    if (key !== undefined) {
      const replayed = await takeKey(tx, request, key);
      if (replayed !== null) {
        request.established.audited = true;
        request.established.checkedGeneration = true;
        return replayed;
      }
    }
    if (organisation?.status === "suspended" && options.evenIfSuspended !== true)
      throw new Conflict(
        organisationSuspended("organisation_active", "the organisation is suspended; it can only read", {
          resource: organisation.id,
          fix: `An operator resumes it: PATCH /organisations/${organisation.id} {"status":"active"}`,
        }),
      );
    const { reply, resource, details, secretFields } = await work(tx);
    if (request.dryRun) throw new DryRun(reply);
    await crashPoint("written");
    await writeAudit(tx, request, {
      resource,
      outcome: "succeeded",
      httpStatus: reply.status,
      code: null,
      details: { ...requestDetails(request), ...details },
    });
    if (key !== undefined) storeAnswer(tx, request, key, reply, secretFields ?? []);
    return reply;
  });
}

/**
 * From here to its end the transaction sees and writes this organisation's rows only, whatever its queries
 * are.
 */
export function actAs(tx: Tx, organisationId: string): void {
  sendAhead(tx, sql`select set_config('app.organisation', ${organisationId}, true)`);
}
