import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { actAs } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { ownerColumns, ownerOfRow } from "../../platform/server-owner.ts";
import { lockOrganisation, type OrganisationRow } from "../organisations/index.ts";
import { viewUsage } from "./view.ts";

/** The unit of each kind of segment. */
const measures = {
  compute: ["vcpu", "memory_mb"],
  disk: ["disk_gb"],
  public_ip: ["count"],
} as const satisfies Readonly<Record<Schemas["UsageSegmentKind"], readonly string[]>>;

/** A correction needs a quantity and a reason. */
export function checkCorrection(
  _request: ApiRequest,
  { quantity }: Partial<RequestBody<"correctUsage">>,
): FieldError[] {
  return quantity !== undefined && Object.keys(quantity).length === 0
    ? [fieldError("/quantity", "required", "must name what is corrected")]
    : [];
}

/**
 * Corrects a segment's quantity by an event of its own: the wrong count stays readable, and the segments add
 * up to the correct quantity. For a disk that still exists the server's record is corrected as well, because
 * its next change is counted from there.
 */
export async function correctUsage(
  request: ApiRequest<"correctUsage">,
  tx: Tx,
  { id: organisationId }: OrganisationRow,
): Promise<Outcome> {
  const { segment: segmentId, quantity, reason } = request.body;
  actAs(tx, organisationId);
  // A server's row before the organisation's, as where usage is recorded.
  const known = await findSegment(tx, organisationId, segmentId);
  if (known.kind === "disk" && known.resource_type === "server")
    await lockServer(tx, organisationId, known.resource_id);
  if ((await lockOrganisation(tx, organisationId)) === null) throw new NotFound();
  const segment = await findSegment(tx, organisationId, segmentId);
  const counted: readonly string[] = measures[segment.kind as Schemas["UsageSegmentKind"]];
  const errors = Object.keys(quantity)
    .filter((measure) => !counted.includes(measure))
    .map((measure) =>
      fieldError(
        `/quantity/${measure}`,
        "out_of_range",
        `a segment of ${segment.kind} is counted in ${counted.join(" and ")}`,
      ),
    );
  if (errors.length > 0) throw new Invalid(errors);

  const from = segment.quantity as Schemas["UsageQuantity"];
  const to = { ...from, ...quantity };
  const { usage_seq } = await tx
    .updateTable("organisation")
    .set({ usage_seq: sql<bigint>`usage_seq + 1` })
    .where("id", "=", organisationId)
    .returning("usage_seq")
    .executeTakeFirstOrThrow();
  const event = await tx
    .insertInto("usage_event")
    .values({
      id: newId("use"),
      organisation_id: organisationId,
      seq: usage_seq,
      kind: "usage.corrected" satisfies Schemas["UsageKind"],
      at: sql<Date>`greatest(now(), (
        select at from usage_event where organisation_id = ${organisationId}
           and resource_id = ${segment.resource_id} order by seq desc limit 1))`,
      region: segment.region,
      resource_type: segment.resource_type,
      resource_id: segment.resource_id,
      resource_name: segment.resource_name,
      ...ownerColumns(ownerOfRow(segment)),
      package: segment.package,
      quantity: JSON.stringify(to),
      labels: JSON.stringify(segment.labels),
      job_id: null,
      source: "correction",
      corrects: segment.id,
      reason,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  if (segment.ended_at === null && quantity.disk_gb !== undefined)
    await tx
      .updateTable("server")
      .set({ disk_gb: quantity.disk_gb, updated_at: sql<Date>`clock_timestamp()` })
      .where("organisation_id", "=", organisationId)
      .where("id", "=", segment.resource_id)
      .execute();
  return {
    reply: reply(201, viewUsage(event)),
    resource: segment.resource_id,
    details: { segment: segment.id, from, to, reason },
  };
}

async function findSegment(tx: Tx, organisationId: string, id: string) {
  const row = await tx
    .selectFrom("usage_segment")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined)
    throw new Invalid([fieldError("/segment", "not_found", "no such segment of the organisation")]);
  return row;
}

async function lockServer(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx
    .selectFrom("server")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .execute();
}
