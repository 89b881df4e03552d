// The region behind this agent, as its region file describes it: the hypervisor's client, and what programs need.

import { LinuxEdge } from "@kule/edge/linux-edge";
import { LocalRunner } from "@kule/edge/local-runner";
import { SshRunner } from "@kule/edge/ssh-runner";
import type { Edge } from "@kule/programs/edge";
import { GuestInspector } from "@kule/programs/inventory/guest-inspector";
import { type ScanPart, scanRegion } from "@kule/programs/inventory/scan-region";
import type { Host, Job, Observed, World } from "@kule/programs/program";
import type { RegionSettings } from "@kule/programs/region-settings";
import { runJob } from "@kule/programs/registry";
import { type CallRecord, ProxmoxClient } from "@kule/proxmox/client";
import type { PreflightSettings } from "@kule/proxmox/preflight";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import type { RegionFile } from "@kule/region-config/region-file";
import { machineAsker } from "./load-balancer-machines.ts";
import type { AgentRuntime } from "./runtime.ts";
import type { SealingKey } from "./sealing-key.ts";

/** @param readOnly refuses every call that would change something */
export function hypervisorClient(
  file: RegionFile,
  onCall?: (record: CallRecord) => void,
  readOnly = false,
): ProxmoxClient {
  const token = file.hypervisor.token.reveal();
  const equals = token.indexOf("=");
  return new ProxmoxClient({
    endpoints: file.hypervisor.endpoints,
    tokenId: token.slice(0, equals),
    tokenSecret: token.slice(equals + 1),
    tls: file.hypervisor.tls,
    ...(onCall ? { onCall } : {}),
    readOnly,
  });
}

export function regionSettings(file: RegionFile): RegionSettings {
  return {
    region: file.region,
    poolPrefix: file.hypervisor.poolPrefix,
    diskStorage: file.storage.disks,
    fullClone: file.hypervisor.clone === "full",
    bridge: file.network.bridge,
    firewallRoundMs: file.hypervisor.firewallRoundSeconds * 1000,
    publicNetwork: file.network.public,
    templates: file.templates,
    targetNodes: file.hypervisor.targetNodes,
  };
}

export function preflightSettings(file: RegionFile): PreflightSettings {
  const { storage, network, hypervisor } = file;
  return {
    storages: [...new Set([storage.disks, storage.cloudinit])],
    bridges: [...new Set([network.bridge, ...(network.public ? [network.public.bridge] : [])])],
    poolPrefix: hypervisor.poolPrefix,
    templates: templateVmids(file),
    vmidRange: [hypervisor.vmidRange.first, hypervisor.vmidRange.last],
    hasNodeFilter: hypervisor.hasNodeFilter,
  };
}

/** Image slug to its templates: one, or one for each node. */
export function templateVmids(file: RegionFile): Record<string, number[]> {
  return Object.fromEntries(
    Object.entries(file.templates).map(([slug, template]) => [
      slug,
      "vmid" in template ? [template.vmid] : Object.values(template.vmidByNode),
    ]),
  );
}

/** The region's edge, and how its connection is ended; null in a region without one. */
export type RegionEdge = { readonly edge: Edge; end(): void };

/** @throws BadEdgeState for wiring that cannot be used */
export function regionEdge({ edge }: Pick<RegionFile, "edge">): RegionEdge | null {
  if (edge === null) return null;
  const wiring = { uplink: edge.uplink, trunk: edge.trunk };
  if (edge.transport === "local") return { edge: new LinuxEdge(new LocalRunner(), wiring), end: () => {} };
  const { host, port, user, key, hostKey } = edge;
  const runner = new SshRunner({ host, port, user, key: key.reveal(), hostKey });
  return { edge: new LinuxEdge(runner, wiring), end: () => runner.end() };
}

/** Runs jobs in this region. */
export function jobRunner(
  file: RegionFile,
  client: ProxmoxClient,
  edge: Edge | null,
  key: SealingKey,
  runtime: AgentRuntime,
): (job: Job, host: Host) => Promise<Observed> {
  const world = regionWorld(file, client, edge, key, runtime);
  return (job, host) => runJob(job, world, host);
}

/** What programs have of this region. */
export function regionWorld(
  file: RegionFile,
  client: ProxmoxClient,
  edge: Edge | null,
  key: Pick<SealingKey, "open">,
  runtime: AgentRuntime,
): World {
  return {
    hypervisor: new ProxmoxHypervisor(client, runtime),
    edge,
    settings: regionSettings(file),
    runtime,
    openSecret: (sealed, context) => key.open(sealed, context),
  };
}

/** Asks machines of load balancers for their status. */
export function loadBalancerAsker(file: RegionFile, client: ProxmoxClient, runtime: AgentRuntime) {
  return machineAsker(new ProxmoxHypervisor(client, runtime), file.region);
}

/** Guests in one report. */
const GUESTS_PER_BATCH = 50;

/** Scans this region; what it learns of guests is kept from one scan to the next. */
export function regionScanner(
  file: RegionFile,
  client: ProxmoxClient,
  runtime: AgentRuntime,
): (pass: number, lookFor: readonly number[], signal: AbortSignal) => AsyncIterable<ScanPart> {
  const inspector = new GuestInspector(client, runtime);
  const settings = { ...regionSettings(file), vmidRange: file.hypervisor.vmidRange };
  return (pass, lookFor, signal) =>
    scanRegion({ client, runtime, settings, inspector, signal }, pass, lookFor, GUESTS_PER_BATCH);
}
