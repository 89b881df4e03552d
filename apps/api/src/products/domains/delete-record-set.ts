import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { recordChangesReply } from "./record-changes-reply.ts";
import type { RecordSetRow } from "./record-store.ts";
import { ifMatchOf } from "./set-record-set.ts";
import type { DomainRow } from "./store.ts";
import { writeChanges } from "./write-changes.ts";

export async function deleteRecordSet(
  request: ApiRequest<"deleteRecordSet">,
  tx: Tx,
  { domain, recordSet }: { readonly domain: DomainRow; readonly recordSet: RecordSetRow },
): Promise<Outcome> {
  const { name, type } = recordSet;
  const written = await writeChanges(
    request,
    tx,
    domain,
    () => [{ op: "delete", name, type, ttl: null, values: [], ifMatch: ifMatchOf(request) }],
    { pointerOf: ({ field }) => `record_${field}` },
  );
  // Somebody has deleted it since it was found.
  if (written.deleted.length === 0) throw new NotFound();
  return {
    reply: await recordChangesReply(request, tx, written),
    resource: domain.id,
    details: { name, type },
  };
}
