import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { requireRecordPath } from "./record-path.ts";
import { findRecordSet } from "./record-store.ts";
import { viewRecordSets } from "./record-view.ts";
import type { DomainRow } from "./store.ts";
import { pointerEnd, writeChanges } from "./write-changes.ts";

/** Creates a record set or replaces it. */
export async function setRecordSet(
  request: ApiRequest<"setRecordSet">,
  tx: Tx,
  found: DomainRow,
): Promise<Outcome> {
  const { body } = request;
  const path = requireRecordPath(request, found.name);
  const written = await writeChanges(
    request,
    tx,
    found,
    () => [
      {
        op: "upsert",
        ...path,
        ttl: body.ttl ?? null,
        values: body.values,
        ifMatch: ifMatchOf(request),
        ifNoneMatch: request.header("If-None-Match") === "*",
        managedBy: body.managed_by,
        comment: body.comment,
      },
    ],
    {
      pointerOf: ({ field }) =>
        field === "name" || field === "type" ? `record_${field}` : pointerEnd(field),
    },
  );
  const row =
    written.created[0] ?? written.changed[0]?.after ?? (await findRecordSet(tx, written.domain, path));
  if (row === null) throw new NotFound();
  const [view] = await viewRecordSets(tx, written.domain, [row]);
  const isNew = written.created.length > 0;
  return {
    reply: reply(
      written.job !== null ? 202 : isNew ? 201 : 200,
      { record_set: view, job: await viewJobOrNone(tx, written.job, request.caller) },
      { ETag: view?.etag ?? "" },
    ),
    resource: found.id,
    details: { name: path.name, type: path.type },
  };
}

/** The condition of a request about one record set: its etag, or `*` for one that exists. */
export function ifMatchOf(request: ApiRequest): string | null {
  request.established.checkedGeneration = true;
  return request.header("If-Match")?.trim().replace(/^W\//, "") ?? null;
}
