import type { SystemAuditAction } from "@kule/contract/system-audit";
import { judgeReportedKey } from "@kule/rules/regions/agent-key";
import { canSealTo, keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import { sql } from "kysely";
import type { ApiRequest } from "../platform/api-request.ts";
import { systemQuery, type Tx } from "../platform/database.ts";
import { fieldError, Invalid } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { inTransaction } from "../platform/transaction.ts";

/**
 * Stores a key that is not the one in use: the region's first one is used from now on, another one waits for
 * an operator. A stolen agent token is enough to report a key, so a report alone must not decide which key
 * passwords are sealed to.
 *
 * @returns whether secrets are sealed to it now
 */
export async function keepReportedKey(
  request: ApiRequest<"reportHealth">,
  region: string,
  key: string,
): Promise<boolean> {
  if (!canSealTo(key))
    throw new Invalid([
      fieldError("/public_key", "invalid_format", "must be an X25519 public key in base64"),
    ]);
  const kept = await inTransaction(request.db, (tx) => keep(tx, request, region, key));
  const told = { region, fingerprint: keyFingerprint(key) };
  if (kept === "wait")
    request.deps.log.error(
      { alarm: true, ...told },
      "an agent reports a new key; an operator has to approve or refuse it",
    );
  if (kept === "first") request.deps.log.info(told, "secrets are sealed to the region's first key");
  return kept === "first" || kept === "in_use";
}

async function keep(tx: Tx, request: ApiRequest<"reportHealth">, region: string, key: string) {
  const row = await tx
    .selectFrom("region")
    .select(["agent_public_key", "pending_agent_key"])
    .select(
      sql<number | null>`extract(epoch from clock_timestamp() - pending_agent_key_seen_at)::float8`.as(
        "pending_age_seconds",
      ),
    )
    .where("slug", "=", region)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const judged = judgeReportedKey(key, {
    inUse: row.agent_public_key,
    pending: row.pending_agent_key,
    pendingAgeSeconds: row.pending_age_seconds,
  });
  if (judged === "in_use" || judged === "aside") return judged;
  const now = sql<Date>`clock_timestamp()`;
  const keyReport = {
    pending_agent_key_token: request.caller.tokenId,
    pending_agent_key_agent: request.body.agent_name ?? null,
  };
  const changes =
    judged === "first"
      ? { agent_public_key: key, agent_key_since: now, agent_key_seen_at: now }
      : judged === "again"
        ? { pending_agent_key_seen_at: now }
        : {
            pending_agent_key: key,
            pending_agent_key_since: now,
            pending_agent_key_seen_at: now,
            ...keyReport,
          };
  await tx.updateTable("region").set(changes).where("slug", "=", region).execute();
  if (judged === "first") await note(tx, request, region, key, "agent.key_first");
  if (judged === "wait") await note(tx, request, region, key, "agent.key_pending");
  return judged;
}

async function note(
  tx: Tx,
  { caller, body, id, sourceAddress }: ApiRequest<"reportHealth">,
  region: string,
  key: string,
  action: SystemAuditAction,
): Promise<void> {
  await systemQuery(tx, "an audit row for operators")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: null,
      region,
      actor_type: "agent",
      actor_id: caller.tokenId,
      actor_name: body.agent_name ?? caller.tokenName,
      action,
      resource: region,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: id,
      source_address: sourceAddress,
      details: JSON.stringify({ fingerprint: keyFingerprint(key) }),
    })
    .execute();
}
