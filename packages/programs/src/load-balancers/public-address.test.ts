// keepalived with what is rendered for the two machines of a load balancer, in namespaces in place of guests: where the
// public address is, and which way its answers take.

import { execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Holder } from "@kule/lab/wires/holder";
import { probeWires } from "@kule/lab/wires/wires";
import { haproxyRunsScript } from "@kule/rules/load-balancers/render/keepalived-configuration";
import { renderLoadBalancer } from "@kule/rules/load-balancers/render/render-load-balancer";
import { sampleIntent, sampleMachine } from "@kule/rules/load-balancers/testing/sample-intents";
import { PacketMachine } from "@kule/testing/packets/packet-machine";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const run = promisify(execFile);
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
const keepalived = await requirePart(
  "keepalived",
  () =>
    run("keepalived", ["-v"], { env }).then(
      () => undefined,
      () => "keepalived does not run",
    ),
  import.meta.filename,
);
const wires = await requirePart("wires", probeWires, import.meta.filename);

const slots = [1, 2] as const;
type Slot = (typeof slots)[number];
const otherOf = (slot: Slot): Slot => (slot === 1 ? 2 : 1);
const publicAddress = "198.51.100.30";
const gateway = "198.51.100.1";
/** Of a client beyond the gateway. */
const farClient = "192.0.2.7";
const LIMIT_MS = 60_000;

/** The private and the public segment, with the router of both; each machine is in both. */
const LINKS = `
ip netns add router
ip -n router link set lo up
ip -n router address add ${farClient}/32 dev lo
for segment in private public; do
  ip -n router link add $segment type bridge
  ip -n router link set $segment up
done
ip -n router address add 10.0.0.1/24 dev private
ip -n router address add ${gateway}/24 dev public
for slot in 1 2; do
  ip netns add machine$slot
  ip -n machine$slot link set lo up
  ip -n router link add private$slot type veth peer name eth0 netns machine$slot
  ip -n router link add public$slot type veth peer name eth1 netns machine$slot
  ip -n router link set private$slot master private up
  ip -n router link set public$slot master public up
  ip -n machine$slot address add 10.0.0.$((slot + 1))/24 dev eth0
  ip -n machine$slot link set eth0 up
  ip -n machine$slot link set eth1 up
  ip -n machine$slot route add default via 10.0.0.1
done
`;

describe.skipIf(keepalived.missing || wires.missing)(
  "the public address of two machines",
  {
    timeout: 3 * LIMIT_MS,
  },
  () => {
    let holder: Holder;
    /** keepalived runs no script that others could replace. */
    let folder: string;
    let client: PacketMachine;
    const machines: PacketMachine[] = [];

    beforeAll(async () => {
      holder = await Holder.start();
      await holder.run(["sh", "-ec", LINKS]);
      folder = await mkdtemp("/run/kule-public-");
      await writeFile(join(folder, "haproxy-runs"), "#!/bin/sh\nexit 0\n");
      await chmod(join(folder, "haproxy-runs"), 0o755);
      for (const slot of slots) {
        const machine = new PacketMachine(inside(`machine${slot}`));
        machines.push(machine);
        await machine.start();
        await startKeepalived(slot);
      }
      client = new PacketMachine(inside("router"));
      machines.push(client);
      await client.start();
    }, LIMIT_MS);
    afterAll(async () => {
      for (const machine of machines) await machine.end();
      await holder?.end();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    });

    const inside = (namespace: string): readonly string[] => [
      ...holder.inside(),
      "ip",
      "netns",
      "exec",
      namespace,
    ];

    /** As the image's unit does. It ends with the holder. */
    async function startKeepalived(slot: Slot): Promise<void> {
      const highAvailability = {
        virtualAddress: "10.0.0.4",
        prefixLength: 24,
        vrid: 7,
        publicAddress: { address: publicAddress, prefixLength: 24, gateway, interfaceName: "eth1" },
      };
      const own = { slot, address: `10.0.0.${slot + 1}`, peerAddress: `10.0.0.${otherOf(slot) + 1}` };
      const { files } = renderLoadBalancer(
        { ...sampleIntent, highAvailability },
        { ...sampleMachine, ...own },
      );
      const text = files.find(({ path }) => path === "keepalived/keepalived.conf")?.content ?? "";
      const file = join(folder, `${slot}.conf`);
      await writeFile(file, text.replaceAll(haproxyRunsScript, join(folder, "haproxy-runs")));
      const [program = "", ...words] = [
        ...inside(`machine${slot}`),
        ...["keepalived", "--dont-fork", "--vrrp", `--use-file=${file}`],
        ...[`--pid=${file}.pid`, `--vrrp_pid=${file}.vrrp`],
      ];
      spawn(program, words, { stdio: "ignore", env });
    }

    const said = (slot: Slot, ...words: readonly string[]) =>
      holder.run(["ip", "-n", `machine${slot}`, ...words]);

    /** Its address, and the rule and the routes by which its answers leave: all of it or nothing; null in between. */
    async function has(slot: Slot): Promise<boolean | null> {
      const [addresses, rules, routes] = await Promise.all([
        said(slot, "-4", "-o", "address", "show", "dev", "eth1"),
        said(slot, "rule", "show"),
        // There is no such table while nothing is in it.
        said(slot, "route", "show", "table", "1000").catch(() => ""),
      ]);
      const parts = [
        addresses.includes(`${publicAddress}/32`),
        rules.includes(`from ${publicAddress} lookup 1000`),
        routes.includes(`default via ${gateway} dev eth1`),
        routes.includes("198.51.100.0/24 dev eth1"),
      ];
      return parts.every((each) => each === parts[0]) ? (parts[0] ?? false) : null;
    }

    async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
      const deadline = performance.now() + LIMIT_MS;
      while (!(await holds())) {
        if (performance.now() > deadline) throw new Error(`not in ${LIMIT_MS / 1_000} s: ${what}`);
        await delay(100);
      }
    }

    /** The machine that has it, once one has all of it and the other one nothing. */
    async function active(): Promise<Slot> {
      let found: Slot = 1;
      await until("one machine has the public address", async () => {
        const [one, other] = await Promise.all(slots.map(has));
        found = one === true ? 1 : 2;
        return one !== null && other !== null && one !== other;
      });
      return found;
    }

    const answersAll = async () => {
      expect(await client.send("tcp", publicAddress, { waitMs: 10_000 })).toEqual({ seenAs: gateway });
      expect(await client.send("tcp", publicAddress, { from: farClient, waitMs: 10_000 })).toEqual({
        seenAs: farClient,
      });
    };

    test("is at one of them, answers near and far clients, and changes no other way of the machine", async () => {
      await active();
      await answersAll();
      for (const slot of slots)
        expect(await said(slot, "route", "get", farClient)).toContain("via 10.0.0.1 dev eth0");
    });

    test("goes to the other one when its machine is cut off, and is not taken back", async () => {
      const first = await active();
      const links = async (state: "up" | "down") => {
        for (const segment of ["private", "public"])
          await holder.run(["ip", "-n", "router", "link", "set", `${segment}${first}`, state]);
      };
      await links("down");
      await until("the other machine has it", async () => (await has(otherOf(first))) === true);
      await answersAll();
      await links("up");
      await until("the first has let go of it", async () => (await has(first)) === false);
      expect(await active()).toBe(otherOf(first));
      await answersAll();
    });
  },
);
