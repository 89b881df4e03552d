// A firewall is changed by its program while machines really send packets through it. The lab enforces each call as soon
// as it is made, so every state on the way has its packets.

import { setTimeout as pause } from "node:timers/promises";
import { probeWires } from "@kule/lab/wires/wires";
import { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import type { PacketMachine } from "@kule/testing/packets/packet-machine";
import { vm, WiredLab } from "@kule/testing/packets/wired-lab";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Job, World } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import { createJob, quietHost, SETTINGS } from "../testing/lab-region.ts";
import type { Filter } from "./desired-firewall.ts";
import { applyFirewall } from "./program.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);

const VLAN = 371;
const [SERVER, FRIEND, STRANGER] = ["10.20.0.5", "10.20.0.6", "10.20.0.7"];
/** Each state of the firewall is in force for so long. */
const STATE_MILLISECONDS = 40;

type Rule = Filter["rules"][number];
const allow = (id: string, more: Partial<Rule> = {}): Rule => ({
  id,
  direction: "in",
  action: "allow",
  protocol: "any",
  ports: [],
  side: null,
  addresses: null,
  ...more,
});
const filter = (id: string, ...rules: Rule[]): Filter => ({ id, is_filtered: true, rules });
const denyStranger = allow("fwr_no", { action: "deny", addresses: [STRANGER] });

/** All of them let the friend in and keep the stranger out, each in another way. */
const FILTERS: readonly Filter[] = [
  filter("flt_1", allow("fwr_1", { addresses: [FRIEND] })),
  filter("flt_2", denyStranger, allow("fwr_2")),
  filter("flt_3", allow("fwr_3", { side: "private", addresses: [FRIEND, "10.20.0.9", "192.0.2.0/24"] })),
  filter(
    "flt_4",
    allow("fwr_4", { protocol: "tcp", ports: ["80"], addresses: [FRIEND] }),
    allow("fwr_5", { protocol: "udp", ports: ["79-81"], addresses: [FRIEND, "10.20.0.8"] }),
    denyStranger,
    allow("fwr_6", { addresses: ["10.20.0.0/24"] }),
  ),
  filter("flt_5", denyStranger, allow("fwr_6", { addresses: ["10.20.0.0/24"] }), allow("fwr_7")),
];

describe.skipIf(part.missing)("A firewall that is changed under traffic", { timeout: 120_000 }, () => {
  let lab: WiredLab;
  let client: ProxmoxClient;
  let world: World;
  let [server, friend, stranger]: PacketMachine[] = [];
  let made: Job<never>["payload"];

  beforeAll(async () => {
    lab = await WiredLab.start({
      networks: [{ bridge: "vmbr0", vlan: null, addresses: ["203.0.113.1/24"] }],
      beyond: ["198.18.0.1"],
    });
    client = new ProxmoxClient({
      endpoints: [lab.lab.url],
      tokenId: lab.lab.tokenId,
      tokenSecret: lab.lab.tokenSecret,
      tls: { fingerprints: [lab.lab.fingerprint256] },
    });
    const runtime = virtualRuntime();
    world = {
      hypervisor: new ProxmoxHypervisor(client, runtime),
      settings: SETTINGS,
      runtime,
      edge: null,
      openSecret: () => "",
    };
    const start = async (vmid: number, address: string) => {
      const job = createJob(vmid);
      const [nic] = job.payload.interfaces;
      const mac = `BC:24:11:00:01:${String(vmid % 100).padStart(2, "0")}`;
      const interfaces = nic === undefined ? [] : [{ ...nic, mac, vlan: VLAN, address }];
      const payload = { ...job.payload, interfaces };
      await runProgram(createServer, { ...job, payload }, world, quietHost());
      await lab.settled();
      return { payload, machine: await lab.enter(lab.wires.inMachine(vmid)) };
    };
    const first = await start(20_771, SERVER);
    made = first.payload as never;
    server = first.machine;
    friend = (await start(20_772, FRIEND)).machine;
    stranger = (await start(20_773, STRANGER)).machine;
  }, 120_000);
  afterAll(async () => {
    client?.close();
    await lab?.end();
  });

  const there = () => {
    if (server === undefined || friend === undefined || stranger === undefined)
      throw new Error("the machines do not run");
    return { server, friend, stranger };
  };

  const apply = (wanted: Filter) => {
    const payload = { ...(made as object), kind: "FirewallApply", public_interface: null, filter: wanted };
    const job = { id: `job_${wanted.id}`, payload } as unknown as Job<never>;
    // Each call is followed by this point: its effect has its time.
    const crashPoint = async () => {
      await lab.settled();
      await pause(STATE_MILLISECONDS);
    };
    return runProgram(applyFirewall, job, world, { ...quietHost(), crashPoint });
  };

  /** What came of the packets that were sent while something was done. */
  async function meanwhile(act: () => Promise<unknown>) {
    const { server, friend, stranger } = there();
    const talk = await friend.connect(SERVER);
    await server.arrivals();
    let isOver = false;
    const seen = {
      said: [] as unknown[],
      called: [] as unknown[],
      dialled: [] as unknown[],
      leaked: [] as unknown[],
    };
    const again = async (each: () => Promise<unknown>) => {
      while (!isOver) await each();
    };
    const traffic = [
      again(async () => void seen.said.push(await talk.speak(4_000))),
      // Datagrams are not sent again: one that is lost is seen.
      again(async () => void seen.called.push(await friend.send("udp", SERVER, { waitMs: 2_000 }))),
      again(async () => void seen.dialled.push(await friend.send("tcp", SERVER, { waitMs: 4_000 }))),
      again(async () => void seen.leaked.push(await stranger.send("tcp", SERVER, { waitMs: 30 }))),
      again(() => stranger.send("udp", SERVER, { waitMs: 5 })),
    ];
    await act();
    isOver = true;
    await Promise.all(traffic);
    return { ...seen, arrivals: new Set(await server.arrivals()) };
  }

  it("drops no flow that stays allowed and lets nothing in that both forbid, from each to each", async () => {
    const [first] = FILTERS;
    if (first === undefined) throw new Error("no filters");
    await apply(first);
    await lab.settled();
    // All ways from each to each: round them in steps of one, of two, and so on, which meets each pair once.
    let from = first;
    for (let step = 1; step < FILTERS.length; step += 1)
      for (let turn = 1; turn <= FILTERS.length; turn += 1) {
        const to = FILTERS[(turn * step) % FILTERS.length] ?? first;
        const { said, called, dialled, leaked, arrivals } = await meanwhile(() => apply(to));
        const way = `${from.id} to ${to.id}`;
        expect(new Set(said), way).toEqual(new Set(["passed"]));
        for (const answers of [called, dialled])
          expect(
            answers.filter((each) => JSON.stringify(each) !== JSON.stringify({ seenAs: FRIEND })),
            way,
          ).toEqual([]);
        expect(new Set(leaked), way).toEqual(new Set(["silent"]));
        expect([...arrivals], way).toEqual([FRIEND]);
        // Otherwise there was no traffic to speak of.
        expect(Math.min(said.length, called.length, dialled.length), way).toBeGreaterThan(3);
        from = to;
      }
  });

  it("would be seen to leak, and to drop, if its calls came in another order", async () => {
    const [first] = FILTERS;
    if (first === undefined) throw new Error("no filters");
    await apply(first);
    const leaked = await meanwhile(async () => {
      await lab.change(`PUT ${vm(20_771)}/firewall/options`, { policy_in: "ACCEPT" });
      await pause(STATE_MILLISECONDS);
    });
    expect([...leaked.arrivals]).toContain(STRANGER);
    await apply(first);
    const dropped = await meanwhile(async () => {
      await lab.change(`PUT ${vm(20_771)}/firewall/rules/1`, { enable: 0 });
      await pause(2_500);
      await lab.change(`PUT ${vm(20_771)}/firewall/rules/1`, { enable: 1 });
    });
    expect(dropped.called).toContain("silent");
    // What was let in once is answered to its end.
    expect(new Set(dropped.said)).toEqual(new Set(["passed"]));
  });
});
