import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { recordChangesReply } from "./record-changes-reply.ts";
import { requireRecordPath } from "./record-path.ts";
import type { DomainRow } from "./store.ts";
import { type WantedChange, writeChanges } from "./write-changes.ts";

/** Adds values to a record set and removes others, whatever else it has. */
export async function changeRecordValues(
  request: ApiRequest<"changeRecordValues">,
  tx: Tx,
  found: DomainRow,
): Promise<Outcome> {
  const { add = [], remove = [], ttl = null } = request.body;
  const path = requireRecordPath(request, found.name);
  const steps = [
    { op: "remove", values: remove, ttl: null },
    { op: "add", values: add, ttl },
  ] as const;
  const used = steps.filter(({ values }) => values.length > 0);
  const written = await writeChanges(
    request,
    tx,
    found,
    () =>
      used.map(
        ({ op, values, ttl: seconds }): WantedChange => ({
          op,
          ...path,
          ttl: seconds,
          values,
          ifMatch: null,
        }),
      ),
    {
      pointerOf: ({ index, field }) =>
        field === "name" || field === "type"
          ? `record_${field}`
          : `/${field.replace(/^values(?:\[(\d+)\])?/, (_, at?: string) => `${used[index]?.op ?? "add"}${at === undefined ? "" : `/${at}`}`)}`,
    },
  );
  return {
    reply: await recordChangesReply(request, tx, written),
    resource: found.id,
    details: { name: path.name, type: path.type },
  };
}
