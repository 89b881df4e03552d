import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { type Database, systemQuery } from "../../platform/database.ts";
import { type Reply, reply } from "../../platform/reply.ts";

/** The worker verifies every ten minutes; after two missed ones its result is old. */
const staleAfterSeconds = 1_800;

/**
 * What the worker found when it last verified the trail against its seals, as far as it concerns the caller.
 */
export async function verifyAudit(request: ApiRequest<"verifyAudit">): Promise<Reply> {
  return reply(200, await viewVerification(request.db, request.organisationOrNull?.id ?? null));
}

async function viewVerification(
  db: Database,
  organisationId: string | null,
): Promise<Schemas["AuditVerification"]> {
  const last = await db
    .selectFrom("audit_verification")
    .select(["checked_at", "kept_from", "up_to"])
    .select(
      sql<boolean>`checked_at < clock_timestamp() - make_interval(secs => ${sql.lit(staleAfterSeconds)})`.as(
        "stale",
      ),
    )
    .executeTakeFirst();
  if (last === undefined)
    return {
      whole: null,
      checked_at: null,
      stale: true,
      kept_from: null,
      up_to: null,
      first_break: null,
      breaks: 0,
    };
  let found = systemQuery(db, "what is wrong with the seals themselves is of no organisation")
    .selectFrom("audit_break")
    .select(["reason", "position", "audit_id", "at"]);
  if (organisationId !== null)
    found = found.where((is) =>
      is.or([is("organisation_id", "=", organisationId), is("reason", "=", "seals_removed")]),
    );
  const breaks = await found.orderBy("number").execute();
  const [first] = breaks;
  return {
    whole: breaks.length === 0,
    checked_at: last.checked_at.toISOString(),
    stale: last.stale,
    kept_from: last.kept_from?.toISOString() ?? null,
    up_to: last.up_to?.toISOString() ?? null,
    first_break:
      first === undefined
        ? null
        : {
            reason: first.reason as Schemas["AuditBreak"]["reason"],
            position: first.position === null || organisationId !== null ? null : Number(first.position),
            entry: first.audit_id,
            at: first.at?.toISOString() ?? null,
          },
    breaks: breaks.length,
  };
}
