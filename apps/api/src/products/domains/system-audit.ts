import type { AuditAction } from "@kule/contract/generated/operations";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Requester } from "./apply.ts";
import type { DomainRow } from "./store.ts";

/** Notes in the audit trail what Kule itself did with a domain, in the transaction that did it. */
export async function noteSystemChange(
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  what: {
    readonly action: AuditAction | SystemAuditAction;
    readonly by: Requester;
    readonly details: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  await tx
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id,
      region: null,
      actor_type: "system",
      actor_id: null,
      actor_name: what.by.requestedBy.name,
      action: what.action,
      resource: id,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: what.by.requestId,
      source_address: null,
      details: JSON.stringify(what.details),
    })
    .execute();
}
