import type { Schemas } from "@kule/contract/schemas";
import { csvLine } from "@kule/rules/usage/csv";
import type { ApiRequest } from "../../platform/api-request.ts";
import { isStillAllowed } from "../../platform/still-allowed.ts";
import { listEvents, listSegments } from "./lists.ts";
import { viewSegment, viewUsage } from "./view.ts";

type Request = ApiRequest<"exportUsageCsv" | "exportUsageNdjson">;
type Page = { readonly items: readonly Item[]; readonly nextCursor: string | null };
type Item = Schemas["UsageEvent"] | Schemas["UsageSegment"];

/**
 * How many rows are in memory at a time, whatever the export's length: the next ones are read when these are
 * sent.
 */
const rowsAtOnce = 500;

export type Format = {
  readonly contentType: string;
  readonly ending: string;
  head(of: "segments" | "events"): string;
  line(item: Item): string;
};

export const ndjson: Format = {
  contentType: "application/x-ndjson",
  ending: "ndjson",
  head: () => "",
  line: (item) => `${JSON.stringify(item)}\n`,
};

const common = [
  "region",
  "resource_type",
  "resource_id",
  "resource_name",
  "package",
  "vcpu",
  "memory_mb",
  "disk_gb",
  "count",
  "labels",
  "managed_by_type",
  "managed_by_id",
  "managed_by_name",
];
/** What only events have, behind the others. */
const measured = ["connections", "requests", "bytes_in", "bytes_out"] as const;

export const csv: Format = {
  contentType: "text/csv; charset=utf-8; header=present",
  ending: "csv",
  head: (of) =>
    csvLine([
      ...(of === "segments"
        ? ["id", "kind", "start", "end"]
        : ["id", "seq", "kind", "at", "source", "job_id"]),
      ...common,
      ...(of === "events" ? measured : []),
    ]),
  line: (item) =>
    csvLine([
      ...("seq" in item
        ? [item.id, item.seq, item.kind, item.at, item.source, item.job_id]
        : [item.id, item.kind, item.start, item.end]),
      item.region,
      item.resource.type,
      item.resource.id,
      item.resource.name,
      item.package,
      item.quantity.vcpu ?? null,
      item.quantity.memory_mb ?? null,
      item.quantity.disk_gb ?? null,
      item.quantity.count ?? null,
      JSON.stringify(item.labels),
      item.managed_by?.type ?? null,
      item.managed_by?.id ?? null,
      item.managed_by?.name ?? null,
      ...("seq" in item ? measured.map((name) => item.quantity[name] ?? null) : []),
    ]),
};

/**
 * All of it in one answer, no faster than it is read. An error on the way breaks the connection: an
 * incomplete file must not look complete.
 */
export async function exportUsage(request: Request, format: Format): Promise<Response> {
  const of = request.query.of ?? "segments";
  // The first page before the answer begins, so that what is wrong with the request is still an error.
  let page: Page | null = await pageOf(request, of, undefined);
  let isFirst = true;
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (page === null) return controller.close();
        const lines = page.items.map(format.line).join("");
        const text = isFirst ? format.head(of) + lines : lines;
        isFirst = false;
        const { nextCursor } = page;
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (nextCursor === null) {
          page = null;
          return controller.close();
        }
        if (!(await isStillAllowed(request))) throw new Error("the token was revoked during the export");
        page = await pageOf(request, of, nextCursor);
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(stream, {
    status: 200,
    headers: {
      "Content-Type": format.contentType,
      "Content-Disposition": `attachment; filename="usage-${of}.${format.ending}"`,
    },
  });
}

async function pageOf(
  request: Request,
  of: "segments" | "events",
  cursor: string | undefined,
): Promise<Page> {
  const { db, organisationId, query } = request;
  const { of: _of, ...filters } = query;
  const asked = { ...filters, limit: rowsAtOnce, ...(cursor === undefined ? {} : { cursor }) };
  if (of === "events") {
    const { rows, nextCursor } = await listEvents(db, organisationId, asked);
    return { items: rows.map(viewUsage), nextCursor };
  }
  const { rows, nextCursor } = await listSegments(db, organisationId, asked);
  return { items: rows.map(viewSegment), nextCursor };
}
