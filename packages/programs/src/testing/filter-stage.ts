// A server whose firewall is changed by its program, call by call, and two others that send packets to it:
// one that every filter lets in, and one that none does. The lab enforces each call as soon as it is made, so
// packets meet every state in between.

import { setTimeout as pause } from "node:timers/promises";
import { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import type { PacketMachine } from "@kule/testing/packets/packet-machine";
import type { WiredLab } from "@kule/testing/packets/wired-lab";
import type { Filter } from "../firewalls/desired-firewall.ts";
import { applyFirewall } from "../firewalls/program.ts";
import type { Job, World } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import { createJob, quietHost, SETTINGS } from "./lab-region.ts";

const vlan = 371;
/** Each state on the way is in force for so long. */
const stateMilliseconds = 40;

export const filterCast = {
  server: { vmid: 20_771, address: "10.20.0.5" },
  friend: { vmid: 20_772, address: "10.20.0.6" },
  stranger: { vmid: 20_773, address: "10.20.0.7" },
} as const;
const friendAddress = filterCast.friend.address;

type Rule = Filter["rules"][number];
const allow = (id: string, more: Partial<Rule> = {}): Rule => ({
  ...{ id, direction: "in", action: "allow", protocol: "any", ports: [], side: null, addresses: null },
  ...more,
});
const filter = (id: string, ...rules: Rule[]): Filter => ({ id, is_filtered: true, rules });
const denyStranger = allow("fwr_no", { action: "deny", addresses: [filterCast.stranger.address] });
const allowSubnet = allow("fwr_all", { addresses: ["10.20.0.0/24"] });

/** All of them let the friend in and keep the stranger out, each in another way. */
export const filtersInTurn: readonly Filter[] = [
  filter("one-address", allow("fwr_1", { addresses: [friendAddress] })),
  filter("all-but-one", denyStranger, allow("fwr_2")),
  filter(
    "a-set",
    allow("fwr_3", { side: "private", addresses: [friendAddress, "10.20.0.9", "192.0.2.0/24"] }),
  ),
  filter(
    "by-ports",
    allow("fwr_4", { protocol: "tcp", ports: ["80"], addresses: [friendAddress] }),
    allow("fwr_5", { protocol: "udp", ports: ["79-81"], addresses: [friendAddress, "10.20.0.8"] }),
    denyStranger,
    allowSubnet,
  ),
  filter("all-but-one-again", denyStranger, allowSubnet, allow("fwr_7")),
];

/** Ways from each to each: round them in steps of one, of two, and so on, which meets each pair once. */
export function* filterChanges(steps: number): Generator<{ readonly from: Filter; readonly to: Filter }> {
  const [first] = filtersInTurn;
  if (first === undefined) throw new Error("there are no filters");
  let from = first;
  for (let step = 1; step <= steps; step += 1)
    for (let turn = 1; turn <= filtersInTurn.length; turn += 1) {
      const to = filtersInTurn[(turn * step) % filtersInTurn.length] ?? first;
      yield { from, to };
      from = to;
    }
}

export type FilterStage = {
  readonly server: PacketMachine;
  readonly friend: PacketMachine;
  readonly stranger: PacketMachine;
  /** Each state on the way to the filter lasts for a while. */
  apply(wanted: Filter): Promise<unknown>;
  end(): void;
};

export async function openFilterStage(lab: WiredLab): Promise<FilterStage> {
  const client = new ProxmoxClient({
    endpoints: [lab.lab.url],
    tokenId: lab.lab.tokenId,
    tokenSecret: lab.lab.tokenSecret,
    tls: { fingerprints: [lab.lab.fingerprint256] },
  });
  const runtime = virtualRuntime();
  const hypervisor = new ProxmoxHypervisor(client, runtime);
  const world: World = { hypervisor, settings: SETTINGS, runtime, edge: null, openSecret: () => "" };
  const server = await newServer(lab, world, filterCast.server);
  const friend = await newServer(lab, world, filterCast.friend);
  const stranger = await newServer(lab, world, filterCast.stranger);
  return {
    server: server.machine,
    friend: friend.machine,
    stranger: stranger.machine,
    apply: (wanted) => {
      const payload = { ...server.payload, kind: "FirewallApply", public_interface: null, filter: wanted };
      const job = { id: `job_${wanted.id}`, payload } as unknown as Job<never>;
      // Each call is followed by this point: its effect has its time.
      const crashPoint = async () => {
        await lab.settled();
        await pause(stateMilliseconds);
      };
      return runProgram(applyFirewall, job, world, { ...quietHost(), crashPoint });
    },
    end: () => client.close(),
  };
}

async function newServer(
  lab: WiredLab,
  world: World,
  { vmid, address }: { readonly vmid: number; readonly address: string },
) {
  const job = createJob(vmid);
  const mac = `BC:24:11:00:01:${String(vmid % 100).padStart(2, "0")}`;
  const interfaces = job.payload.interfaces.map((nic) => ({ ...nic, mac, vlan, address }));
  const payload = { ...job.payload, interfaces };
  await runProgram(createServer, { ...job, payload }, world, quietHost());
  await lab.settled();
  return { payload, machine: await lab.enter(lab.wires.inMachine(vmid)) };
}
