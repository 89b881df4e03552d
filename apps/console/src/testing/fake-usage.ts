import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import type { Answer, Operation } from "./fake-operation.ts";
import { type Fail, narrowedPage } from "./fake-page.ts";
import type { FakeState } from "./fake-state.ts";

/** Every server ran for a day and a half at the beginning of the requested month. */
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
  operation("get", "/usage", "listUsage", ({ query, fail }) =>
    narrowedUsage(eventsOf(state, query), query, fail),
  );
  operation("get", "/usage/segments", "listUsageSegments", ({ query, fail }) => {
    const start = query.get("from") ?? "2026-11-01T00:00:00.000Z";
    const items = state.servers.flatMap((server) =>
      (["compute", "disk"] as const).map((kind): Schemas["UsageSegment"] => ({
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
    return narrowedUsage(items, query, fail);
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
        quota("subnets", "count", null, 0),
        quota("ssh_keys", "count", 50, 0),
        quota("public_ips", "count", 20, 0),
        quota("firewalls", "count", 20, 0),
        quota("firewall_rules", "count", 500, 0),
        quota("gateways", "count", 5, 0),
        quota("members", "count", null, 0),
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

/** The events that the API would have recorded for the existing servers and addresses. */
function eventsOf(state: FakeState, query: URLSearchParams): readonly Schemas["UsageEvent"][] {
  const at = query.get("from") ?? "2026-11-01T00:00:00.000Z";
  const job = state.jobs[0]?.id ?? null;
  const ofServers = state.servers.flatMap((server) =>
    (["disk.allocated", "server.started"] as const).map((kind) => ({
      kind,
      region: server.region,
      resource: { type: "server" as const, id: server.id, name: server.name },
      package: server.package.slug,
      quantity: kind === "disk.allocated" ? { disk_gb: 80 } : { vcpu: 2, memory_mb: 4096 },
      labels: server.labels,
      job_id: kind === "disk.allocated" ? job : null,
      source: kind === "disk.allocated" ? ("verify" as const) : ("reconcile" as const),
    })),
  );
  const ofAddresses = state.publicIps.map((ip) => ({
    kind: "public_ip.allocated" as const,
    region: ip.region,
    resource: { type: "public_ip" as const, id: ip.id, name: ip.address },
    package: null,
    quantity: { count: 1 },
    labels: ip.labels,
    job_id: null,
    source: "request" as const,
  }));
  return [...ofServers, ...ofAddresses].map((event, index) => ({
    ...event,
    id: `use_${index}`,
    seq: index + 1,
    at,
  }));
}

type Narrowable = Pick<Schemas["UsageEvent"], "region" | "resource" | "labels"> & { readonly kind: string };

/** The ones that the query selects, as a page. */
function narrowedUsage(items: readonly Narrowable[], query: URLSearchParams, fail: Fail): Answer {
  const meant = items.filter(
    ({ kind, resource }) =>
      (!query.has("kind") || query.getAll("kind").includes(kind)) &&
      (!query.has("resource") || query.get("resource") === resource.id),
  );
  return narrowedPage(meant, query, fail);
}
