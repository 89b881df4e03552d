import { setTimeout as pause } from "node:timers/promises";
import type { Filter } from "@kule/programs/firewalls/desired-firewall";
import { applyFirewall } from "@kule/programs/firewalls/program";
import type { Job, World } from "@kule/programs/program";
import { runProgram } from "@kule/programs/run-program";
import { createServer } from "@kule/programs/servers/create-server/program";
import { createJob, quietHost, SETTINGS } from "@kule/programs/testing/lab-region";
import { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import { Flows } from "@kule/testing/packets/flows";
import { answeringPort } from "@kule/testing/packets/packet-machine";
import type { WiredLab } from "@kule/testing/packets/wired-lab";
import type { RowRun } from "../row.ts";
import type { Numbers } from "./numbers.ts";
import { changeUnder, type Tally, type Traffic } from "./traffic.ts";

const vlan = 371;
const [serverAddress, friendAddress, strangerAddress] = ["10.20.0.5", "10.20.0.6", "10.20.0.7"];
/** Each state on the way is in force for so long. */
const stateMilliseconds = 40;

type Rule = Filter["rules"][number];
const allow = (id: string, more: Partial<Rule> = {}): Rule => ({
  ...{ id, direction: "in", action: "allow", protocol: "any", ports: [], side: null, addresses: null },
  ...more,
});
const filter = (id: string, ...rules: Rule[]): Filter => ({ id, is_filtered: true, rules });
const denyStranger = allow("fwr_no", { action: "deny", addresses: [strangerAddress] });
const allowSubnet = allow("fwr_all", { addresses: ["10.20.0.0/24"] });

/** All of them let the friend in and keep the stranger out, each in another way. */
const filters: readonly Filter[] = [
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

/** A server's firewall goes from each filter to each by its program, call by call. */
export async function changeFirewalls(lab: WiredLab, run: RowRun, numbers: Numbers, tally: Tally) {
  const { world, end } = worldOf(lab);
  const server = await newServer(lab, world, 20_771, serverAddress);
  const friend = await newServer(lab, world, 20_772, friendAddress);
  const stranger = await newServer(lab, world, 20_773, strangerAddress);
  const flows = new Flows(lab.wires.inMachine(20_772));
  const apply = (wanted: Filter) => {
    const payload = { ...server.payload, kind: "FirewallApply", public_interface: null, filter: wanted };
    const job = { id: `job_${wanted.id}`, payload } as unknown as Job<never>;
    // Each call is followed by this point: its effect has its time.
    const crashPoint = async () => {
      await lab.settled();
      await pause(stateMilliseconds);
    };
    return runProgram(applyFirewall, job, world, { ...quietHost(), crashPoint });
  };
  try {
    const [first, ...others] = filters;
    if (first === undefined) throw new Error("there is no filter");
    await apply(first);
    await lab.settled();
    const kind = { to: serverAddress, port: answeringPort };
    await flows.open({ ...kind, name: "connection to the server", protocol: "tcp", count: numbers.tcp });
    await flows.open({ ...kind, name: "datagrams to the server", protocol: "udp", count: numbers.udp });
    const to = serverAddress;
    const traffic: Traffic = {
      flows: [flows],
      everyMs: numbers.everyMs,
      allowed: [
        { name: "a new connection to the server", by: friend.machine, protocol: "tcp", to },
        { name: "a new datagram to the server", by: friend.machine, protocol: "udp", to },
      ],
      denied: [
        { name: "the stranger's connection", by: stranger.machine, protocol: "tcp", to },
        { name: "the stranger's answered datagram", by: stranger.machine, protocol: "udp", to },
      ],
      forbidden: [
        {
          name: "the stranger's datagram",
          at: server.machine,
          from: (source) => source !== friendAddress,
        },
      ],
    };
    // Round them in steps of one, of two, and so on, which meets each pair once.
    let from = first;
    const steps = run.scale === "full" ? others.length : 1;
    for (let step = 1; step <= steps; step += 1)
      for (let turn = 1; turn <= filters.length; turn += 1) {
        const wanted = filters[(turn * step) % filters.length] ?? first;
        await changeUnder(
          traffic,
          `the firewall from ${from.id} to ${wanted.id}`,
          () => apply(wanted),
          tally,
        );
        run.progress(
          `${tally.changes} changes of a firewall, ${tally.spoken} answers to ${flows.count} flows`,
        );
        from = wanted;
      }
    return flows.count;
  } finally {
    await flows.end();
    end();
  }
}

function worldOf({ lab }: WiredLab): { readonly world: World; readonly end: () => void } {
  const client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: [lab.fingerprint256] },
  });
  const runtime = virtualRuntime();
  const hypervisor = new ProxmoxHypervisor(client, runtime);
  const world = { hypervisor, settings: SETTINGS, runtime, edge: null, openSecret: () => "" };
  return { world, end: () => client.close() };
}

async function newServer(lab: WiredLab, world: World, vmid: number, address: string) {
  const job = createJob(vmid);
  const mac = `BC:24:11:00:01:${String(vmid % 100).padStart(2, "0")}`;
  const interfaces = job.payload.interfaces.map((nic) => ({ ...nic, mac, vlan, address }));
  const payload = { ...job.payload, interfaces };
  await runProgram(createServer, { ...job, payload }, world, quietHost());
  await lab.settled();
  return { payload, machine: await lab.enter(lab.wires.inMachine(vmid)) };
}
