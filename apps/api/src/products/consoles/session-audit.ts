import type { Schemas } from "@kule/contract/schemas";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { SessionEnd, SessionRow } from "./store.ts";

/**
 * Records that a session began or ended, and why: long after the request for its ticket, under the id of that
 * request.
 */
export async function auditSession(
  connection: Database | Tx,
  session: SessionRow,
  what: "opened" | "closed",
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  const actor = session.actor as unknown as Schemas["Actor"];
  await systemQuery(connection, "the audit trail holds rows of no organisation too")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: session.organisation_id,
      region: session.region,
      actor_type: actor.type,
      actor_id: actor.id,
      actor_name: actor.name,
      action: `server.console_${what}` satisfies SystemAuditAction,
      resource: session.server_id,
      outcome: "succeeded",
      http_status: what === "opened" ? 101 : 200,
      code: null,
      request_id: session.request_id,
      source_address: session.source_address,
      details: JSON.stringify({
        session: session.id,
        type: session.type,
        ...details,
        ...(session.on_behalf ? { on_behalf: true } : {}),
      }),
    })
    .execute();
}

/** The end, with the bytes that were counted; without a final count, the counts that were written last. */
export function auditEnd(tx: Tx, session: SessionRow, { reason, bytes }: SessionEnd): Promise<void> {
  return auditSession(tx, session, "closed", {
    reason,
    bytes_in: bytes?.in ?? Number(session.bytes_in),
    bytes_out: bytes?.out ?? Number(session.bytes_out),
  });
}
