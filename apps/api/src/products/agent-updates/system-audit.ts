import type { SystemAuditAction } from "@kule/contract/system-audit";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";

/** Notes in the audit trail what Kule itself did with a rollout, in the transaction that did it. */
export async function noteRollout(
  tx: Tx,
  { id, version }: { readonly id: string; readonly version: string },
  action: SystemAuditAction,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await systemQuery(tx, "a rollout is of no organisation")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: null,
      region: null,
      actor_type: "system",
      actor_id: null,
      actor_name: "agent updates",
      action,
      resource: id,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: newId("req"),
      source_address: null,
      details: JSON.stringify({ version, ...details }),
    })
    .execute();
}
