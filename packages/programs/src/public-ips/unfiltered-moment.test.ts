import { execFileSync } from "node:child_process";
import { probeWires, type Wires } from "@kule/lab/wires/wires";
import { systemRuntime } from "@kule/proxmox/runtime";
import { PacketMachine } from "@kule/testing/packets/packet-machine";
import { requirePart } from "@kule/testing/parts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Job } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import { createJob, type LabRegion, quietHost, startLabRegion } from "../testing/lab-region.ts";
import type { PublicIpPayload } from "./plan.ts";
import { attachPublicIp } from "./program.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);

/** The lab's firewall reads its files every ten of these. */
const timeScale = 0.2;
const own = "203.0.113.10";
const addressOfOthers = "203.0.113.99";
const nextHop = "203.0.113.1";

describe.skipIf(part.missing)("A guest that uses the addresses of others", { timeout: 120_000 }, () => {
  let region: LabRegion;
  let internet: PacketMachine;
  const machines: PacketMachine[] = [];

  beforeAll(async () => {
    region = await startLabRegion(
      {},
      {
        timeScale,
        wires: { networks: [{ bridge: "vmbr0", vlan: 10, addresses: [`${nextHop}/24`] }], beyond: [] },
      },
      systemRuntime,
    );
    internet = new PacketMachine(wires().inInternet());
    await internet.start();
  });
  afterEach(() => Promise.all(machines.splice(0).map((machine) => machine.end())));
  afterAll(async () => {
    await internet?.end();
    await region?.stop();
  });

  function wires(): Wires {
    if (region.lab.wires === undefined) throw new Error("this lab has no wires");
    return region.lab.wires;
  }

  /** Whose packets passed while an address was attached to a running server whose guest attacked. */
  async function attachedUnderAttack(vmid: number, firewallRoundMs: number): Promise<ReadonlySet<string>> {
    const world = { ...region.world, settings: { ...region.world.settings, firewallRoundMs } };
    const { payload } = createJob(vmid);
    await runProgram(createServer, createJob(vmid), world, quietHost());
    await expect
      .poll(() => world.hypervisor.guestInterfaces({ vmid, node: "pve1" }), { timeout: 15_000 })
      .not.toBeNull();
    const { server, interfaces } = payload;
    const job: Job<PublicIpPayload> = {
      id: `job_ip_${vmid}`,
      payload: {
        kind: "PublicIpAttach",
        server,
        vmid,
        interfaces: interfaces.map((each) => ({ ...each, gateway: null })),
        public_interface: {
          mac: "0a:01:00:00:4f:01",
          vlan: null,
          addresses: [{ version: 4, address: own, prefix_length: 24, gateway: nextHop }],
        },
        guest_network: "netplan",
      },
    };
    const guest = new PacketMachine(wires().inMachine(vmid));
    machines.push(guest);
    await guest.start();
    let isAttached = false;
    const attack = (async () => {
      while (!isAttached) {
        if (take(vmid, addressOfOthers))
          await guest.send("udp", nextHop, { from: addressOfOthers, waitMs: 50 });
        else await systemRuntime.pause(10);
      }
    })();
    await runProgram(attachPublicIp, job as never, world, quietHost());
    // Late rules are in force by then.
    await systemRuntime.pause(12_000 * timeScale);
    isAttached = true;
    await attack;
    // Its ARP requests in another's name were dropped; the guest must abandon them before it sends its own.
    await expect
      .poll(() => guest.send("udp", nextHop, { from: own, waitMs: 1_000 }), { timeout: 15_000 })
      .toEqual({ seenAs: own });
    return new Set(await internet.arrivals());
  }

  /** As root of the guest may; false while the interface is not there yet. */
  function take(vmid: number, address: string): boolean {
    const words = [...wires().inMachine(vmid), "sh", "-c"];
    const script = `ip link set dev eth1 up; ip addr replace ${address}/24 dev eth1`;
    try {
      execFileSync(words[0] ?? "", [...words.slice(1), script], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  }

  it("never sends with one, not even in the moment in which its interface is added", async () => {
    expect(await attachedUnderAttack(20_901, 12_500 * timeScale)).toEqual(new Set([own]));
  });

  it("would have its moment if nothing waited for the hypervisor's firewall", async () => {
    expect(await attachedUnderAttack(20_902, 0)).toEqual(new Set([own, addressOfOthers]));
  });
});
