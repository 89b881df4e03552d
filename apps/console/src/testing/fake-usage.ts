import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import type { Operation } from "./fake-api.ts";
import type { FakeState } from "./fake-state.ts";

/** Every server ran for a day and a half at the beginning of the month that is asked for. */
export function registerUsage(operation: Operation, state: FakeState, app: Hono, calls: string[]): void {
  operation("get", "/usage/summary", "summariseUsage", ({ query }) => {
    const from = query.get("from") ?? "2026-11-01T00:00:00.000Z";
    const groupBy = query.get("group_by") ?? "resource";
    const item = (group: string, name: string | null, hours: number, servers: number) => ({
      group,
      name,
      type: name === null ? null : "server",
      compute_seconds: hours * 3600 * servers,
      vcpu_seconds: hours * 3600 * 2 * servers,
      memory_mb_seconds: hours * 3600 * 4096 * servers,
      disk_seconds: hours * 3600 * servers,
      disk_gb_seconds: hours * 3600 * 80 * servers,
      public_ip_seconds: 0,
    });
    const days = [24, 12].map((hours, day) =>
      item(
        new Date(Date.parse(from) + day * 86_400_000).toISOString().slice(0, 10),
        null,
        hours,
        state.servers.length,
      ),
    );
    const body: Schemas["UsageSummary"] = {
      group_by: groupBy,
      from,
      to: query.get("to") ?? from,
      items:
        state.servers.length === 0
          ? []
          : groupBy === "day"
            ? days
            : groupBy === "package"
              ? [...new Set(state.servers.map((server) => server.package.slug))].map((slug) =>
                  item(slug, null, 36, state.servers.filter((server) => server.package.slug === slug).length),
                )
              : state.servers.map(({ id, name }) => item(id, name, 36, 1)),
      next_cursor: null,
    };
    return { status: 200, body };
  });
  operation("get", "/usage/segments", "listUsageSegments", ({ query, fail }) => {
    const selector = query.get("label_selector") ?? "";
    if (/\S\s\S/.test(selector))
      return fail(422, "validation_failed", "The request is wrong", {
        errors: [
          {
            field: "label_selector",
            code: "invalid_format",
            message: "is not a selector",
            pointer: "label_selector",
          },
        ],
      });
    const start = query.get("from") ?? "2026-11-01T00:00:00.000Z";
    const items = state.servers
      .filter(({ id }) => !query.has("resource") || query.get("resource") === id)
      .flatMap((server) =>
        (["compute", "disk"] as const)
          .filter((kind) => !query.has("kind") || query.getAll("kind").includes(kind))
          .map((kind): Schemas["UsageSegment"] => ({
            id: `seg_${server.id.slice(4)}_${kind}`,
            kind,
            start,
            end: kind === "disk" ? null : new Date(Date.parse(start) + 36 * 3600_000).toISOString(),
            region: server.region,
            resource: { type: "server", id: server.id, name: server.name },
            package: server.package.slug,
            quantity: kind === "disk" ? { disk_gb: 80 } : { vcpu: 2, memory_mb: 4096 },
            labels: server.labels,
          })),
      );
    return { status: 200, body: { items, next_cursor: null } };
  });
  operation("get", "/quotas", "listQuotas", () => {
    const used = state.servers.length;
    const quota = (
      name: Schemas["QuotaName"],
      unit: Schemas["Quota"]["unit"],
      limit: number | null,
      each: number,
    ) => ({
      name,
      limit: state.limits.get(name) ?? (state.limits.has(name) ? null : limit),
      used: used * each,
      reserved: name === "disk_gb" && used > 0 ? 80 : 0,
      unit,
    });
    const body: Schemas["QuotaList"] = {
      items: [
        quota("servers", "count", 10, 1),
        quota("vcpu", "count", 12, 2),
        quota("memory_mb", "MB", 65_536, 4096),
        quota("disk_gb", "GB", 2000, 80),
        quota("networks", "count", null, 0),
      ],
      next_cursor: null,
    };
    return { status: 200, body };
  });
  for (const [format, type] of [
    ["csv", "text/csv"],
    ["ndjson", "application/x-ndjson"],
  ])
    app.get(`/api/v1/usage/export.${format}`, (context) => {
      calls.push(`GET /usage/export.${format}${new URL(context.req.url).search}`);
      return context.body(`${format} of ${state.servers.length}\r\n`, 200, { "content-type": type ?? "" });
    });
}
