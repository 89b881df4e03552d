// Packets at a server from before it is on. A guest is in its network before the hypervisor's firewall has
// read what was written for it, so the order of the calls alone blocks nothing.

import { execFileSync } from "node:child_process";
import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import { probeWires, type Wires } from "@kule/lab/wires/wires";
import { systemRuntime } from "@kule/proxmox/runtime";
import { PacketMachine } from "@kule/testing/packets/packet-machine";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host, Job } from "../program.ts";
import { runJob } from "../registry.ts";
import { createJob, type LabRegion, quietHost, startLabRegion } from "../testing/lab-region.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);

/** The lab's firewall reads its files every ten of these, and a guest is in its network after three. */
const timeScale = 0.2;
/** A round, and by how much a busy machine may be late. */
const firewallRoundMs = 15_000 * timeScale;
/**
 * Until rules that were written after a start are in force as well: from then on their delay would be
 * invisible.
 */
const lateMs = 12_000 * timeScale;
/** Servers side by side: at each two knock all the time. */
const atOnce = 8;
const vlan = 371;
const [allowedPort, forbiddenPort] = [22, 80];

const filter = {
  id: "flt_ssh",
  is_filtered: true,
  rules: [
    {
      ...{ id: "fwr_1", direction: "in", action: "allow", protocol: "tcp" },
      ...{ ports: [String(allowedPort)], side: null, addresses: null },
    },
  ],
} satisfies PayloadOf<"FirewallApply">["filter"];

type Create = Job<PayloadOf<"ServerCreate">>;
type Kill = (point: string) => void;

describe.skipIf(part.missing)("A server with a firewall", { timeout: 240_000 }, () => {
  let region: LabRegion;
  let stranger: PacketMachine;
  let machines = 0;

  beforeAll(async () => {
    const wires = { networks: [], beyond: [] };
    region = await startLabRegion({ firewallRoundMs }, { timeScale, wires }, systemRuntime);
    const bridge = `vmbr1v${vlan}`;
    for (const command of [
      `link add name ${bridge} type bridge`,
      `link set dev ${bridge} up`,
      `netns add stranger`,
      `link add name rogue0 type veth peer name eth0 netns stranger`,
      `link set dev rogue0 master ${bridge} up`,
      `-n stranger addr add 10.20.0.250/24 dev eth0`,
      `-n stranger link set dev eth0 up`,
    ])
      atBridges("ip", ...command.split(" "));
    stranger = new PacketMachine([...wiresOf().atBridges(), "ip", "netns", "exec", "stranger"]);
    await stranger.start();
  }, 60_000);
  afterAll(async () => {
    await stranger?.end();
    await region?.stop();
  });

  function wiresOf(): Wires {
    if (region.lab.wires === undefined) throw new Error("this lab has no wires");
    return region.lab.wires;
  }

  function atBridges(...words: readonly string[]): void {
    const [program = "", ...more] = [...wiresOf().atBridges(), ...words];
    execFileSync(program, more);
  }

  /** Another server in the one network. */
  function newJob(payload: Partial<PayloadOf<"ServerCreate">>): Create {
    machines += 1;
    const address = `10.20.0.${machines}`;
    const mac = `BC:24:11:00:06:${machines.toString(16).padStart(2, "0")}`;
    const job = createJob(20_600 + machines, payload);
    const interfaces = job.payload.interfaces.map((nic) => ({ ...nic, mac, vlan, address }));
    return { ...job, payload: { ...job.payload, interfaces } };
  }

  /**
   * The hypervisor's firewall has just read its files when the job begins to write, and reads them again
   * after a whole round.
   */
  async function run(job: Job, crashPoint: Kill = () => {}, roundMs = firewallRoundMs): Promise<void> {
    let hasWaited = false;
    const host: Partial<Host> = {
      crashPoint: async (point) => {
        crashPoint(point);
        if (hasWaited || !point.endsWith(".firewall.before-send")) return;
        hasWaited = true;
        await systemRuntime.pause(lateMs);
      },
    };
    const settings = { ...region.world.settings, firewallRoundMs: roundMs };
    await runJob(job, { ...region.world, settings }, quietHost(host));
  }

  /** Another agent continues at once, as after a released job. */
  async function runKilled(job: Job, kill: Kill): Promise<void> {
    await expect(run(job, kill), "the agent was to be killed").rejects.toThrow("killed");
    await run(job);
  }

  /** Whether a packet arrives at the forbidden port while `act` runs, or until all rules must be in force. */
  async function isReachedDuring({ payload }: Create, act: () => Promise<void>): Promise<boolean> {
    const [{ mac = "", address = "" } = {}] = payload.interfaces;
    // A sender that has to resolve the address by ARP first asks once a second, and misses the moment.
    const neighbour = [address, "lladdr", mac.toLowerCase(), "dev", "eth0", "nud", "permanent"];
    atBridges("ip", "-n", "stranger", "neigh", "replace", ...neighbour);
    let isOver = false;
    let tries = 0;
    // No program listens there: that a packet has arrived is visible by the guest's own refusal.
    const isReached = async (port: number): Promise<boolean> => {
      while (!isOver) {
        tries += 1;
        if ((await stranger.send("tcp", address, { port, waitMs: 40 })) !== "silent") return true;
      }
      return false;
    };
    const knocking = [isReached(allowedPort), isReached(forbiddenPort)] as const;
    try {
      await act();
      await Promise.race([knocking[0], systemRuntime.pause(20_000)]);
      await systemRuntime.pause(lateMs);
    } finally {
      isOver = true;
      await Promise.all(knocking);
    }
    expect(await knocking[0], `${address} never answered at the port that is open`).toBe(true);
    // Otherwise hardly any packet was sent.
    expect(tries).toBeGreaterThan(50);
    return knocking[1];
  }

  /** Each point of the three steps that a run of the job passes, and how often. */
  async function pointsOf(job: Create): Promise<readonly (readonly [point: string, times: number])[]> {
    const passed: string[] = [];
    await run(job, (point) => void passed.push(point));
    const since = passed.filter((point) => /\.(firewall|configure|start)\./.test(point));
    return [...new Set(since)].map((point) => [point, since.filter((each) => each === point).length]);
  }

  it("is reached at no forbidden port when it is created, not once, wherever its agent is killed", async () => {
    const points = await pointsOf(newJob({ filter }));
    for (const step of ["firewall", "configure", "start"])
      expect(points.map(([point]) => point)).toContain(`ServerCreate.${step}.after-ack`);
    const reached: string[] = [];
    for (let first = 0; first < points.length; first += atOnce)
      await Promise.all(
        points.slice(first, first + atOnce).map(async ([point, times]) => {
          const job = newJob({ filter });
          let left = times;
          const kill = (at: string) => {
            if (at !== point) return;
            left -= 1;
            if (left === 0) throw new Error("killed");
          };
          if (await isReachedDuring(job, () => runKilled(job, kill))) reached.push(point);
        }),
      );
    expect(reached).toEqual([]);
  });

  it("is not when it is created stopped, and started at once", async () => {
    const job = newJob({ filter, start: false });
    const isReached = await isReachedDuring(job, async () => {
      await run(job);
      await run(next(job, "ServerPower", { action: "start" }));
    });
    expect(isReached).toBe(false);
  });

  it("is not when it is rebuilt", async () => {
    const job = newJob({ filter });
    await run({ ...job, payload: { ...job.payload, start: false } });
    expect(await isReachedDuring(job, () => run(next(job, "ServerRebuild")))).toBe(false);
  });

  it("is not when it gets its firewall while it is off, and is started at once", async () => {
    const job = newJob({ start: false });
    await run(job);
    const isReached = await isReachedDuring(job, async () => {
      await run(next(job, "FirewallApply", { filter }));
      await run(next(job, "ServerPower", { action: "start" }));
    });
    expect(isReached).toBe(false);
  });

  it("would be if nothing waited for the hypervisor's firewall", async () => {
    // A machine that is busy enough may have its round before its guest is up.
    for (let tries = 1; ; tries += 1) {
      const job = newJob({ filter });
      if (await isReachedDuring(job, () => run(job, undefined, 0))) return;
      expect(tries, "the forbidden port was never reached").toBeLessThan(5);
    }
  });
});

/** A job of the same server. */
function next({ id, payload }: Create, kind: JobKind, more: object = {}): Job {
  return { id: `${id}_${kind}`, payload: { ...payload, kind, ...more } } as unknown as Job;
}
