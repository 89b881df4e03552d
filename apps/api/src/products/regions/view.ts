import type { Schemas } from "@kule/contract/schemas";
import { type RegionStatus, regionStatus } from "@kule/rules/regions/status";
import { keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import type { RegionAgent, RegionDetails, RegionRow } from "./store.ts";

export function statusOf(row: RegionRow): RegionStatus {
  return regionStatus({
    maintenance: row.maintenance,
    reportAgeSeconds: row.report_age_seconds,
    reportOk: row.health_ok === true,
  });
}

/** Since when the region has its status; silence begins where trust in the last report ends. */
export function statusSince(row: RegionRow): string | null {
  const silentSince = statusOf(row) === "unreachable" ? row.health_at : null;
  return (silentSince ?? row.status_since)?.toISOString() ?? null;
}

type StoredHealth = Pick<Schemas["HealthReport"], "hypervisor" | "templates">;

/** The images whose template the region's agent found valid. */
export function imagesOf(row: RegionRow): string[] {
  const health = row.health as StoredHealth | null;
  return (health?.templates ?? []).filter((template) => template.ok).map((template) => template.image);
}

function edgeOf(row: RegionDetails): NonNullable<Schemas["Region"]["edge"]> | null {
  const edge = row.edge as Schemas["EdgeHealth"] | null;
  if (!row.has_edge || edge === null || row.edge_at === null) return null;
  return {
    reachable: edge.reachable,
    message: edge.message ?? null,
    reported_at: row.edge_at.toISOString(),
    networks: edge.networks?.length ?? 0,
    unknown_networks: row.unknown_networks,
  };
}

function viewAgentKey(row: RegionRow): Schemas["AgentKey"] | null {
  if (row.agent_public_key === null) return null;
  const { pending_agent_key: pending, pending_agent_key_since: since, pending_agent_key_seen_at: seen } = row;
  return {
    fingerprint: keyFingerprint(row.agent_public_key),
    since: row.agent_key_since?.toISOString() ?? null,
    last_reported_at: row.agent_key_seen_at?.toISOString() ?? null,
    pending:
      pending === null || since === null || seen === null
        ? null
        : {
            fingerprint: keyFingerprint(pending),
            since: since.toISOString(),
            last_reported_at: seen.toISOString(),
            token_id: row.pending_agent_key_token,
            agent_name: row.pending_agent_key_agent,
          },
  };
}

export function viewRegionAgent(agent: RegionAgent): Schemas["RegionAgent"] {
  return {
    name: agent.name === "" ? null : agent.name,
    version: agent.version,
    architecture: agent.architecture,
    can_update: agent.can_update,
    update: agent.update_report,
    reported_at: new Date(agent.reported_at).toISOString(),
  };
}

export function viewRegion(row: RegionDetails): Schemas["Region"] {
  const health = row.health as StoredHealth | null;
  return {
    slug: row.slug,
    name: row.name,
    country: row.country,
    mode: row.mode === "direct" ? "direct" : "agent",
    status: statusOf(row),
    maintenance: row.maintenance,
    restricted_to: row.restricted ? row.restricted_to : null,
    vmid_range: { first: row.vmid_first, last: row.vmid_last },
    vlan_range: { first: row.vlan_first, last: row.vlan_last },
    agent:
      health === null || row.health_at === null
        ? null
        : {
            version: row.agent_version ?? "",
            reported_at: row.health_at.toISOString(),
            hypervisor: health.hypervisor,
            templates: health.templates ?? [],
          },
    agents: row.agents.map(viewRegionAgent),
    rollout: row.rollout,
    edge: edgeOf(row),
    agent_key: viewAgentKey(row),
    jobs: { queued: row.jobs_queued, running: row.jobs_running },
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
