// Load balancers of the lab's region. Most machines are put there at once; that a clone of the template is the same is one test.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import { serverIdentity } from "@kule/lab/certificate";
import { renderMarker } from "@kule/proxmox/marker";
import { applyLoadBalancer } from "../load-balancers/program.ts";
import type { Host, Observed } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import { createJob, type LabRegion, quietHost, stepsDone } from "./lab-region.ts";

export type LoadBalancerPayload = PayloadOf<"LoadBalancerApply">;

const vlan = 130;
let nextVmid = 21_000;

/** A running server of the image; its owner is `srv_<vmid>`. */
export function newMachine(
  region: LabRegion,
  slot: 1 | 2 = 1,
  more: Partial<Schemas["PayloadMachine"]> = {},
): Schemas["PayloadMachine"] {
  const machine = machineAt(nextVmid++, slot);
  const { vmid, server_id } = machine;
  const marker = {
    serverId: server_id,
    organisationId: `org_${vmid}`,
    region: region.world.settings.region,
    jobId: `job_${vmid}`,
  };
  region.lab.control.restoreVm(vmid, "kule-lb", {
    agent: "enabled=1",
    description: renderMarker(marker),
    net0: `virtio=${macOf(vmid)},bridge=vmbr1,tag=${vlan}`,
  });
  region.lab.control.setPower(vmid, true);
  return { ...machine, ...more };
}

/** The same, cloned from the region's template as any server is. */
export async function createdMachine(region: LabRegion): Promise<Schemas["PayloadMachine"]> {
  const machine = machineAt(nextVmid++, 1);
  const { payload, ...job } = createJob(machine.vmid);
  const interfaces = payload.interfaces.map((nic) => ({
    ...nic,
    mac: macOf(machine.vmid),
    vlan,
    address: machine.address,
  }));
  const ofImage = { ...payload, interfaces, template: "kule-lb" };
  await runProgram(createServer, { ...job, payload: ofImage }, region.world, quietHost());
  return { ...machine, has_state: false };
}

const machineAt = (vmid: number, slot: 1 | 2): Schemas["PayloadMachine"] => ({
  slot,
  server_id: `srv_${vmid}`,
  vmid,
  address: `10.30.0.${vmid % 200}`,
  peer_address: null,
  interface_name: "eth0",
  max_connections: 10_000,
  has_state: true,
});

function macOf(vmid: number): string {
  const bytes = [vmid >> 8, vmid & 255].map((byte) => (byte & 255).toString(16).padStart(2, "0"));
  return `BC:24:11:0B:${bytes.join(":")}`.toUpperCase();
}

/** Two machines that know each other. */
export function newPair(region: LabRegion): Schemas["PayloadMachine"][] {
  const one = newMachine(region, 1);
  const two = newMachine(region, 2);
  return [
    { ...one, peer_address: two.address },
    { ...two, peer_address: one.address },
  ];
}

export function payloadOf(
  machines: readonly Schemas["PayloadMachine"][],
  more: Partial<LoadBalancerPayload> = {},
): LoadBalancerPayload {
  return {
    kind: "LoadBalancerApply",
    load_balancer: { id: "lb_1" },
    generation: 1,
    algorithm: "round_robin",
    listeners: [listenerOf("lsn_1", 80)],
    targets: [targetOf("tgt_1", "10.30.0.250")],
    high_availability:
      machines.length === 1
        ? null
        : { virtual_address: "10.30.0.4", prefix_length: 24, vrid: 7, public_address: null },
    acme_thumbprint: null,
    certificates: [],
    machines: [...machines],
    ...more,
  };
}

export function listenerOf(
  id: string,
  port: number,
  more: Partial<Schemas["PayloadListener"]> = {},
): Schemas["PayloadListener"] {
  return {
    id,
    protocol: "http",
    port,
    target_port: 8080,
    redirect_to_https: false,
    sticky: null,
    proxy_protocol: "none",
    idle_timeout_seconds: 60,
    allowed_cidrs: [],
    health_check: {
      protocol: "tcp",
      port: null,
      path: null,
      host: null,
      expected_codes: null,
      interval_seconds: 10,
      timeout_seconds: 5,
      healthy_threshold: 3,
      unhealthy_threshold: 2,
    },
    certificates: [],
    ...more,
  };
}

export const targetOf = (target_id: string, address: string): Schemas["PayloadTarget"] => ({
  target_id,
  selected_server_id: null,
  address,
  weight: 1,
  backup: false,
  drain: false,
});

/** A certificate with its key, PEM. */
export function newCertificate(): { readonly chain: string; readonly key: string } {
  const folder = mkdtempSync(join(tmpdir(), "kule-certificate-"));
  try {
    const { certificatePem, keyPem } = serverIdentity(folder, ["www.example.com"], new Date());
    return { chain: certificatePem, key: keyPem };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export type LoadBalancerRun = { readonly observed: Observed; readonly steps: readonly string[] };

export async function applyIn(
  region: LabRegion,
  payload: LoadBalancerPayload,
  host: Partial<Host> = {},
): Promise<LoadBalancerRun> {
  const quiet = quietHost(host);
  const observed = await runProgram(applyLoadBalancer, { id: "job_lb", payload }, region.world, quiet);
  return { observed, steps: stepsDone(quiet.events) };
}

/** The state that a machine has, by its generation; null before the first. */
export function generationOf(region: LabRegion, vmid: number): number | null {
  const appliance = region.lab.control.vm(vmid)?.guest.appliance;
  if (appliance === undefined || appliance.current === null) return null;
  return appliance.current === appliance.applied ? Number(appliance.current.split("-")[0]) : null;
}

/** How often each machine was given a state. */
export const timesChanged = (region: LabRegion, machines: readonly Schemas["PayloadMachine"][]): number[] =>
  machines.map(({ vmid }) => region.effects(vmid)["guest-state-applied"] ?? 0);
