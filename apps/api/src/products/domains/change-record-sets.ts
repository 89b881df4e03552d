import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { recordChangesReply } from "./record-changes-reply.ts";
import type { DomainRow } from "./store.ts";
import { pointerEnd, type WantedChange, writeChanges } from "./write-changes.ts";

/** All changes of a list or none of them. */
export async function changeRecordSets(
  request: ApiRequest<"changeRecordSets">,
  tx: Tx,
  found: DomainRow,
): Promise<Outcome> {
  const changes = request.body.changes.map(
    ({ op, name, type, ttl, values, managed_by, comment, if_match, if_none_match }): WantedChange => ({
      op,
      name,
      type,
      ttl: ttl ?? null,
      values: values ?? [],
      ifMatch: if_match ?? null,
      ifNoneMatch: if_none_match !== undefined,
      managedBy: managed_by,
      comment,
    }),
  );
  const written = await writeChanges(request, tx, found, () => changes, {
    pointerOf: ({ index, field }) => `/changes/${index}${pointerEnd(field)}`,
  });
  return { reply: await recordChangesReply(request, tx, written), resource: found.id };
}
