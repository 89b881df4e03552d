import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../platform/api-request.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import { type Reply, reply } from "../platform/reply.ts";
import {
  applyFirstTime,
  applyLostNetworks,
  applyStranded,
  endStrandedJobs,
} from "../products/networks/index.ts";
import { regionOf } from "./region.ts";
import { keepReportedKey } from "./reported-key.ts";
import { offeredVersion, seenAgent } from "./seen-agent.ts";

/** Stores the region's last report. `status_since` moves only when the region's health changes. */
export async function reportHealth(
  request: ApiRequest<"reportHealth">,
  handlers: JobHandlers,
): Promise<Reply> {
  const { body, db } = request;
  const region = regionOf(request);
  const templates = body.templates ?? [];
  const isOk = body.hypervisor.reachable && templates.every((template) => template.ok);
  const health = keptHealth(body);
  const {
    now,
    agent_public_key: keyInUse,
    update_to: updateTo,
  } = await db
    .with("agent", () => seenAgent(request, region))
    .updateTable("region")
    .set({
      agent_version: body.agent_version,
      health: JSON.stringify(health),
      health_at: sql<Date>`clock_timestamp()`,
      health_ok: isOk,
      // A report after a silence of a minute is a change as well: the region was shown as unreachable.
      status_since: sql<Date>`case when health_ok is distinct from ${isOk} or health_at is null
          or health_at < clock_timestamp() - interval '60 seconds' then clock_timestamp() else status_since end`,
      // An agent that reports no edge does not support one.
      ...(body.edge === undefined
        ? {}
        : {
            has_edge: body.edge !== null,
            edge: body.edge === null ? null : JSON.stringify(keptEdge(body.edge)),
            edge_at: sql<Date>`clock_timestamp()`,
          }),
      ...(body.public_key === undefined
        ? {}
        : {
            agent_key_seen_at: sql<Date>`case when agent_public_key = ${body.public_key} then clock_timestamp()
          else agent_key_seen_at end`,
          }),
    })
    .where("slug", "=", region)
    .returning([
      sql<Date>`clock_timestamp()`.as("now"),
      "agent_public_key",
      offeredVersion(region, body.agent_version).as("update_to"),
    ])
    .executeTakeFirstOrThrow();
  const isKeyInUse =
    body.public_key === keyInUse ||
    (body.public_key !== undefined && (await keepReportedKey(request, region, body.public_key)));
  if (body.edge !== undefined) {
    const ended = await endStrandedJobs(db, region, { handlers, settings: request.deps.settings });
    if (ended > 0) request.deps.log.warn({ region, jobs: ended }, "jobs of networks end without an edge");
  }
  if ((body.edge ?? null) !== null) {
    await applyFirstTime(db, region);
    await applyStranded(db, region);
  }
  const seen = body.edge?.reachable === true ? body.edge.networks : undefined;
  if (seen !== undefined) {
    const lost = await applyLostNetworks(db, region, seen);
    if (lost > 0)
      request.deps.log.warn({ region, networks: lost }, "the edge has lost networks; applying them again");
  }
  return reply(200, {
    region,
    server_time: now.toISOString(),
    ...(body.public_key === undefined ? {} : { agent_key: isKeyInUse ? "in_use" : "waits_for_approval" }),
    update_to: updateTo,
  });
}

/**
 * The fields of the contract, and no others that a region reports: they cannot make the region's row grow.
 */
function keptHealth({ hypervisor, templates = [], agent_name }: RequestBody<"reportHealth">) {
  const { kind, reachable, version, message, nodes } = hypervisor;
  return {
    hypervisor: {
      kind,
      reachable,
      version,
      message,
      nodes: nodes?.map(({ name, online }) => ({ name, online })),
    },
    templates: templates.map(({ image, ok, message }) => ({ image, ok, message })),
    agent_name: agent_name ?? null,
  };
}

function keptEdge({ reachable, message, networks }: Schemas["EdgeHealth"]) {
  return { reachable, message, networks };
}
