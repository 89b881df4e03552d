import type { Violation } from "@kule/invariants/violation";
import type { JournalEntry } from "@kule/lab/journal";
import { parseMarker } from "@kule/proxmox/marker";
import { type JobRun, repeatedEffects } from "./repeated-effects.ts";

export type ObservedVm = {
  readonly vmid: number;
  readonly running: boolean;
  readonly description: string;
  /** As the hypervisor has it; null compares existence and power only. */
  readonly config: Readonly<Record<string, string>> | null;
};

/** The real state of a region, and everything that ever happened there. */
export type RegionView = {
  readonly region: string;
  readonly vms: readonly ObservedVm[];
  readonly journal: readonly JournalEntry[];
};

/** A server with its allocations, as the database has it. */
export type ServerIntent = {
  readonly id: string;
  readonly organisation_id: string;
  readonly region: string;
  readonly status: string;
  readonly vmid: number | null;
  readonly mac: string | null;
  readonly vlan: number | null;
  readonly address: string | null;
  readonly has_open_job: boolean;
  /** Milliseconds since the epoch. */
  readonly purge_at: number | null;
};

/** The state of a lab, from its control server. */
export async function viewOfControlServer(region: string, controlUrl: string): Promise<RegionView> {
  const journal = (await (await fetch(`${controlUrl}/journal`)).json()) as JournalEntry[];
  return { region, vms: await viewOfVms(controlUrl), journal };
}

/** The VMs alone, without the history. */
export async function viewOfVms(controlUrl: string): Promise<ObservedVm[]> {
  type Vm = { vmid: number; running: boolean; config: Readonly<Record<string, unknown>> };
  const vms = (await (await fetch(`${controlUrl}/vms`)).json()) as Vm[];
  return vms.map(({ vmid, running, config }) => ({
    vmid,
    running,
    description: String(config.description ?? ""),
    config: Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)])),
  }));
}

/** Compares the region's state with the wanted and recorded one in the database: I1, I2, I3, I8, I13. */
export function regionViolations(
  view: RegionView,
  servers: readonly ServerIntent[],
  runs: readonly JobRun[] = [],
): Violation[] {
  const here = servers.filter((server) => server.region === view.region);
  const ours = view.vms.flatMap((vm) => {
    const marker = parseMarker(vm.description);
    return marker === null ? [] : [{ vm, marker }];
  });
  const vmsOf = Map.groupBy(ours, ({ marker }) => marker.serverId);
  const violations: Violation[] = [];
  const note = (invariant: Violation["invariant"], check: string, subject: string) =>
    violations.push({ invariant, check, subject });

  for (const [serverId, found] of vmsOf) {
    if (found.length > 1)
      note("I1", "a server has one VM", `${serverId}: ${found.map(({ vm }) => vm.vmid).join(", ")}`);
    const server = here.find((candidate) => candidate.id === serverId);
    for (const { vm, marker } of found) {
      if (server === undefined || server.status === "deleted")
        note("I2", "every VM of ours has its server", `VM ${vm.vmid} of ${serverId}`);
      else if (server.vmid !== vm.vmid || server.organisation_id !== marker.organisationId)
        note("I2", "a VM carries its server's number and organisation", `VM ${vm.vmid} of ${serverId}`);
      const tags = vm.config?.tags?.split(";");
      if (tags !== undefined && server?.status === "running" && !tags.includes(marker.organisationId))
        note("I2", "a VM is tagged with its organisation", `VM ${vm.vmid}: ${tags.join(";")}`);
    }
  }
  for (const server of here) {
    if (server.has_open_job || (server.status !== "running" && server.status !== "stopped")) continue;
    const vm = vmsOf.get(server.id)?.[0]?.vm;
    if (vm === undefined) note("I3", "a server that is there has a VM", server.id);
    else
      for (const difference of differencesOf(server, vm))
        note("I3", difference, `${server.id}, VM ${vm.vmid}`);
  }
  const ran = runs.filter(({ region }) => region === view.region);
  violations.push(...destroyedTooSoon(view, here, ran));
  violations.push(...repeatedEffects(view.journal, ran));
  return violations;
}

function differencesOf(server: ServerIntent, vm: ObservedVm): string[] {
  const found: string[] = [];
  if (vm.running !== (server.status === "running")) found.push("the power is as the server says");
  if (vm.config === null) return found;
  const { net0 = "", ipconfig0 = "" } = vm.config;
  if (server.mac !== null && !net0.toLowerCase().includes(server.mac))
    found.push("the VM has the server's MAC");
  if (server.vlan !== null && !net0.split(",").includes(`tag=${server.vlan}`))
    found.push("the VM is in its subnet's VLAN");
  const ip = /(?:^|,)ip=([^/,]+)/.exec(ipconfig0)?.[1];
  if (server.address !== null && ip !== server.address) found.push("the VM has the server's address");
  return found;
}

/** Clocks of the region and of the database may differ by this much. */
const clockToleranceMs = 2_000;

function destroyedTooSoon(
  view: RegionView,
  servers: readonly ServerIntent[],
  runs: readonly JobRun[],
): Violation[] {
  const check = "no VM is destroyed before its server's time, or for a server that was kept";
  return view.journal.flatMap((entry) => {
    if (entry.op !== "vm-destroyed") return [];
    const marker = parseMarker(String(entry.detail?.description ?? ""));
    const server = servers.find((candidate) => candidate.id === marker?.serverId);
    if (server === undefined) return [];
    // A rebuild destroys the VM that existed before it, and never the one that it has created.
    const isRebuilt = runs.some(
      ({ id, kind, vmid, started_at }) =>
        kind === "ServerRebuild" &&
        vmid === entry.vmid &&
        started_at <= entry.at + clockToleranceMs &&
        marker?.jobId !== id,
    );
    if (isRebuilt) return [];
    const isOnItsWayOut = server.status === "deleting" || server.status === "deleted";
    const isDue = server.purge_at !== null && server.purge_at <= entry.at + clockToleranceMs;
    return isOnItsWayOut && isDue
      ? []
      : [{ invariant: "I13" as const, check, subject: `${server.id} (${server.status}), VM ${entry.vmid}` }];
  });
}
