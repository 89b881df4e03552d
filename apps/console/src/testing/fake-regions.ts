import type { Schemas } from "@kule/contract/schemas";
import { fakeId } from "./fake-records.ts";

const now = () => new Date().toISOString();

export const fakeRegion: Schemas["Region"] = {
  slug: "ist1",
  name: "Istanbul 1",
  country: "TR",
  mode: "agent",
  status: "ok",
  maintenance: false,
  restricted_to: null,
  vmid_range: { first: 20_000, last: 29_999 },
  vlan_range: { first: 100, last: 999 },
  agent: null,
  jobs: { queued: 0, running: 0 },
  generation: 1,
  created_at: now(),
  updated_at: now(),
};

/** A new key of an agent waits beside the one in use. */
export const fakeAgentKeys = (): Schemas["AgentKey"] => ({
  fingerprint: `SHA256:${"a".repeat(43)}`,
  since: "2026-01-01T00:00:00.000Z",
  last_reported_at: "2026-01-02T00:00:00.000Z",
  pending: {
    fingerprint: `SHA256:${"b".repeat(43)}`,
    since: "2026-01-02T00:00:00.000Z",
    last_reported_at: "2026-01-02T00:00:00.000Z",
    token_id: null,
    agent_name: "ist1-b",
  },
});

export const fakeCapacity: Schemas["RegionCapacity"] = {
  region: "ist1",
  reported_at: now(),
  fresh: true,
  nodes: ["pve1", "pve2", "pve3"].map((name, index) => ({
    name,
    online: index !== 2,
    maintenance: index === 1,
    cpus: 64,
    memory_mb: 524_288,
    memory_used_mb: 131_072,
    memory_free_mb: index === 0 ? 262_144 : 0,
    vcpu_free: index === 0 ? 180 : 0,
    servers: 34 - index * 9,
  })),
  storages: [{ name: "ceph-vm", node: null, total_gb: 65_536, used_gb: 12_000, free_gb: 50_259 }],
  last_pass: { number: 812, ended_at: now(), complete: false, vms: 61, trouble: "offline: pve3" },
};

export function fakeStuckJob(
  reason: Schemas["StuckReason"],
  organisation: Schemas["StuckJob"]["organisation"],
): Schemas["StuckJob"] {
  const failed = reason === "failed" || reason === "repeating";
  return {
    id: fakeId("job"),
    reason,
    since: new Date(Date.now() - 3 * 3600_000).toISOString(),
    kind: "ServerCreate",
    action: null,
    status: reason === "failed" ? "failed" : reason === "not_claimed" || failed ? "queued" : "running",
    region: "ist1",
    organisation,
    resource: { type: "server", id: fakeId("srv"), name: `${reason.replace("_", "-")}-1` },
    phase: failed ? "apply" : null,
    attempt: failed ? 4 : 0,
    max_attempts: 8,
    next_attempt_at: reason === "repeating" ? new Date(Date.now() + 60_000).toISOString() : null,
    agent_name: reason === "not_claimed" ? null : "pve-edge-1/4211",
    error: failed
      ? {
          ...{ code: "template_missing", message: "The region's image is not there." },
          ...{ region_message: "VM 9004 <is gone>", step: "clone", retryable: true },
        }
      : null,
    created_at: new Date(Date.now() - 4 * 3600_000).toISOString(),
  };
}

export function fakeDrift(kind: Schemas["DriftKind"], vmid: number): Schemas["Drift"] {
  const isServers = kind === "changed" || kind === "missing";
  return {
    id: fakeId("drf"),
    kind,
    region: "ist1",
    vmid,
    node: "pve1",
    vm_name: kind === "missing" ? null : `vm-${vmid}`,
    organisation_id: isServers ? fakeId("org") : null,
    server_id: isServers ? fakeId("srv") : null,
    marker: null,
    message: `VM ${vmid} is ${kind}`,
    differences: kind === "changed" ? [{ field: "vcpu", wanted: "2", seen: "9" }] : [],
    first_seen_at: new Date(Date.now() - 3 * 3600_000).toISOString(),
    last_seen_at: now(),
  };
}
