import type { SystemAuditAction } from "@kule/contract/system-audit";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Requester } from "../networks/index.ts";
import type { LoadBalancerRow } from "./store.ts";

/** Notes in the audit trail that Kule has replaced a machine, in the transaction that did it. */
export async function noteReplacement(
  tx: Tx,
  { id, organisation_id, region, name }: LoadBalancerRow,
  what: { readonly slot: number; readonly server_id: string; readonly by: Requester },
): Promise<void> {
  await tx
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id,
      region,
      actor_type: "system",
      actor_id: null,
      actor_name: what.by.requestedBy.name,
      action: "load_balancer.replace_machine" satisfies SystemAuditAction,
      resource: id,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: what.by.requestId,
      source_address: null,
      details: JSON.stringify({ name, slot: what.slot, server: what.server_id }),
    })
    .execute();
}
