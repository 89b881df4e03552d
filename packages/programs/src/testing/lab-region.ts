// A region for the tests of programs: the real driver against the lab over HTTPS, with pauses that take no time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PayloadOf } from "@kule/contract/schemas";
import { type Lab, type LabOptions, startLab } from "@kule/lab/lab";
import { type CallRecord, ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import type { Runtime } from "@kule/proxmox/runtime";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import { isRuleNote } from "@kule/proxmox/vm-firewall-rule";
import type { Host, Job, StepEvent, World } from "../program.ts";
import type { RegionSettings } from "../region-settings.ts";

export type LabRegion = {
  readonly lab: Lab;
  readonly client: ProxmoxClient;
  readonly world: World;
  readonly calls: CallRecord[];
  /**
   * Effects by the lab's journal: "vm-started" to how often it was done to this VM, and under "vms" how many
   * VMs were ever created for its server.
   */
  effects(vmid: number): Record<string, number>;
  stop(): Promise<void>;
};

export const SETTINGS: RegionSettings = {
  region: "lab1",
  poolPrefix: "kule",
  diskStorage: "ceph-vm",
  fullClone: true,
  bridge: "vmbr1",
  firewallRoundMs: 12_000,
  publicNetwork: { bridge: "vmbr0", vlan: 10 },
  templates: { "ubuntu-24.04": { vmid: 9000 }, "windows-2022": { vmid: 9005 }, "kule-lb": { vmid: 9007 } },
  targetNodes: null,
};

export async function startLabRegion(
  settings: Partial<RegionSettings> = {},
  labOptions: Partial<LabOptions> = {},
  runtime: Runtime = virtualRuntime(),
): Promise<LabRegion> {
  const dataDir = mkdtempSync(join(tmpdir(), "kule-programs-"));
  const lab = await startLab({ dataDir, ...labOptions });
  const calls: CallRecord[] = [];
  const client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: [lab.fingerprint256] },
    onCall: (record) => calls.push(record),
  });
  const world: World = {
    hypervisor: new ProxmoxHypervisor(client, runtime),
    settings: { ...SETTINGS, ...settings },
    runtime,
    edge: null,
    openSecret: (sealed, context) => `opened ${sealed} for ${context}`,
  };
  return {
    lab,
    client,
    world,
    calls,
    effects: (vmid) => {
      const counts: Record<string, number> = {};
      const count = (name: string) => {
        counts[name] = (counts[name] ?? 0) + 1;
      };
      for (const { op, vmid: subject, detail } of lab.journal()) {
        if (subject === vmid && !op.startsWith("task-")) count(op);
        if (op === "clone-finished" && String(detail?.description).includes(`srv=srv_${vmid} `)) count("vms");
      }
      return counts;
    },
    stop: async () => {
      client.close();
      await lab.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A host that records its reports and never loses its lease. */
export function quietHost(host: Partial<Host> = {}): Host & { readonly events: StepEvent[] } {
  const events: StepEvent[] = [];
  return {
    events,
    report: async (event) => {
      events.push(event);
    },
    lease: { remainingFraction: () => 1 },
    ...host,
  };
}

/** The steps that were carried out, in their order. */
export function stepsDone(events: readonly StepEvent[]): string[] {
  return events
    .filter((event) => event.phase === "apply" && event.status === "succeeded")
    .map((event) => event.name);
}

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJv1kYq1u4a8m1mGv0A5p0cQyXk6k1m2b3c4d5e6f7g8 ada@example";

/** A server with every value of its own, so that nothing of two servers can be the same by accident. */
export function createJob(
  vmid: number,
  payload: Partial<PayloadOf<"ServerCreate">> = {},
): Job<PayloadOf<"ServerCreate">> {
  const server = { id: `srv_${vmid}`, organisation_id: `org_${vmid}`, name: `web-${vmid}` };
  const package_ = {
    slug: "m",
    name: "M",
    vcpu: 2,
    memory_mb: 4096,
    disk_gb: 80,
  } as PayloadOf<"ServerCreate">["package"];
  return {
    id: `job_${vmid}`,
    payload: {
      kind: "ServerCreate",
      server,
      vmid,
      pool: `kule-${server.organisation_id}`,
      tags: ["kule", server.organisation_id, server.id],
      template: "ubuntu-24.04",
      os_family: "linux",
      default_user: "ubuntu",
      package: package_,
      interfaces: [
        {
          id: `nic_${vmid}`,
          mac: "BC:24:11:00:00:0A",
          vlan: 120,
          address: "10.20.0.5",
          prefix_length: 24,
          gateway: null,
          dns_servers: ["9.9.9.9", "1.1.1.1"],
          search_domain: "app.example",
        },
      ],
      ssh_public_keys: [KEY],
      password_hash: "$6$rounds=5000$abcdefgh$0123456789abcdef",
      sealed_password: null,
      start: true,
      egress: false,
      ...payload,
    },
  };
}

export function jobOf<Kind extends "ServerStop" | "ServerDestroy">(
  kind: Kind,
  vmid: number,
): Job<PayloadOf<Kind>>;
export function jobOf(kind: "ServerRestore", vmid: number, start: boolean): Job<PayloadOf<"ServerRestore">>;
export function jobOf(kind: string, vmid: number, start?: boolean): Job<never> {
  const server = { id: `srv_${vmid}`, organisation_id: `org_${vmid}`, name: `web-${vmid}` };
  const payload = { kind, server, vmid, ...(start === undefined ? {} : { start }) };
  return { id: `job_${kind}_${vmid}`, payload } as unknown as Job<never>;
}

/** The replacement for VMIDs, so that the final states of two servers can be compared. */
const STAND_IN = "99999";

/**
 * Everything that must be the same in the end wherever a run died: the VM, its firewall, its volumes. What
 * always differs between two VMs is left out or replaced.
 */
export async function endState(region: LabRegion, vmid: number): Promise<unknown> {
  const { hypervisor, settings } = region.world;
  const sighting = await hypervisor.findVm(vmid, { serverId: `srv_${vmid}`, region: settings.region });
  const volumes = region.lab.control.volumes(vmid).sort();
  if (sighting.state !== "present")
    return { sighting, volumes: volumes.map((volume) => volume.replaceAll(String(vmid), STAND_IN)) };
  const { digest, process: _, config, ...vm } = sighting.vm;
  const { smbios1, vmgenid, digest: again, ...compared } = config;
  // Which job has written its rules last is in their note, and in their digest.
  const { rulesDigest, rules, ...filter } = await hypervisor.readFirewall(sighting.vm);
  const firewall = { ...filter, rules: rules.filter((rule) => !isRuleNote(rule)) };
  const text = JSON.stringify({
    vm,
    config: compared,
    firewall,
    volumes,
    password: region.lab.control.vm(vmid)?.config.cipassword,
  });
  return JSON.parse(text.replaceAll(String(vmid), STAND_IN));
}
