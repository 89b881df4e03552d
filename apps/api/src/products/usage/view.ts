import type { Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import type { Selectable } from "kysely";
import { ownerOfRow } from "../../platform/server-owner.ts";

type EventRow = Selectable<DB["usage_event"]>;
type SegmentRow = Selectable<DB["usage_segment"]>;

export function viewUsage(row: EventRow): Schemas["UsageEvent"] {
  return {
    id: row.id,
    seq: Number(row.seq),
    kind: row.kind as Schemas["UsageKind"],
    at: row.at.toISOString(),
    region: row.region,
    resource: viewResource(row),
    managed_by: ownerOfRow(row),
    package: row.package,
    quantity: row.quantity as Schemas["UsageQuantity"],
    labels: row.labels as Record<string, string>,
    job_id: row.job_id,
    source: row.source as Schemas["UsageEvent"]["source"],
    ...(row.corrects === null ? {} : { corrects: row.corrects, reason: row.reason ?? "" }),
  };
}

export function viewSegment(row: SegmentRow): Schemas["UsageSegment"] {
  return {
    id: row.id,
    kind: row.kind as Schemas["UsageSegmentKind"],
    start: row.started_at.toISOString(),
    end: row.ended_at?.toISOString() ?? null,
    region: row.region,
    resource: viewResource(row),
    managed_by: ownerOfRow(row),
    package: row.package,
    quantity: row.quantity as Schemas["UsageQuantity"],
    labels: row.labels as Record<string, string>,
  };
}

function viewResource(row: EventRow | SegmentRow): Schemas["UsageResource"] {
  return {
    type: row.resource_type as Schemas["UsageResource"]["type"],
    id: row.resource_id,
    name: row.resource_name,
  };
}
