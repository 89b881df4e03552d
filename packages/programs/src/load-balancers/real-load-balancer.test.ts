// Two machines of a load balancer that really boot, with what the rules render for them.

import { ProxmoxClient } from "@kule/proxmox/client";
import { runInGuest } from "@kule/proxmox/guest-agent";
import { systemRuntime } from "@kule/proxmox/runtime";
import type { LoadBalancerIntent } from "@kule/rules/load-balancers/intent";
import { renderLoadBalancer } from "@kule/rules/load-balancers/render/render-load-balancer";
import {
  sampleIntent,
  sampleListener,
  sampleMachine,
  sampleTarget,
} from "@kule/rules/load-balancers/testing/sample-intents";
import { HttpLoad, lostOf } from "@kule/testing/packets/http-load";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "@kule/testing/real-guests/real-guests-part";
import { BOOT_MS, RealLab, vm } from "@kule/testing/real-guests/real-lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failed } from "../errors.ts";
import { type Bundle, renderBundle } from "../guest-state/bundle.ts";
import type { GuestOf } from "../guest-state/guest-state.ts";
import { bring, isBrought } from "../testing/killed-guest-state.ts";
import { owner } from "../testing/state-guest.ts";
import { type LoadBalancerStatus, readStatus } from "./status/read-status.ts";

const part = await requireRealGuests(import.meta.filename, "kule-lb");
const slots = [1, 2] as const;
type Slot = (typeof slots)[number];
const vmids = { 1: 20_001, 2: 20_002 } as const;
const addresses = { 1: "203.0.113.21", 2: "203.0.113.22" } as const;
const virtualAddress = "203.0.113.30";
const targetPort = 9000;
const ours = new Map([["lsn_web", new Set(["tgt_one", "tgt_two"])]]);

function intentOf(generation: number, more: Partial<LoadBalancerIntent> = {}): LoadBalancerIntent {
  return {
    ...sampleIntent,
    generation,
    listeners: [
      {
        ...sampleListener,
        targetPort,
        healthCheck: {
          ...sampleListener.healthCheck,
          intervalSeconds: 2,
          timeoutSeconds: 1,
          healthyThreshold: 1,
        },
      },
    ],
    targets: [
      { ...sampleTarget, targetId: "tgt_one", address: addresses[1] },
      { ...sampleTarget, targetId: "tgt_two", address: addresses[2] },
    ],
    highAvailability: { virtualAddress, prefixLength: 24, vrid: 7, publicAddress: null },
    ...more,
  };
}

function bundleOf(slot: Slot, intent: LoadBalancerIntent): Bundle {
  const { certificateIds: _, ...state } = renderLoadBalancer(intent, {
    ...sampleMachine,
    slot,
    address: addresses[slot],
    peerAddress: addresses[slot === 1 ? 2 : 1],
    // As many as the file descriptors of a guest allow where the lab may not raise their limit.
    maxConnections: 5_000,
  });
  return renderBundle(state);
}

describe.skipIf(part.missing)("A load balancer of two real machines", { timeout: 4 * BOOT_MS }, () => {
  let lab: RealLab;
  let client: ProxmoxClient;
  const guests = {} as Record<Slot, GuestOf>;
  let generation = 0;

  beforeAll(async () => {
    lab = await RealLab.start("kule-lb");
    client = new ProxmoxClient({
      endpoints: [lab.lab.url],
      tokenId: lab.lab.operatorTokenId,
      tokenSecret: lab.lab.operatorTokenSecret,
      tls: { fingerprints: [lab.lab.fingerprint256] },
    });
    for (const slot of slots) {
      guests[slot] = {
        vmid: vmids[slot],
        owner,
        hypervisor: {
          runInGuest: (vmid, _owner, command) =>
            runInGuest(client, systemRuntime, { node: "pve1", vmid }, command, {}),
        },
      };
      await lab.create(vmids[slot], {
        net0: `virtio=BC:24:11:00:00:2${slot},bridge=vmbr0`,
        ipconfig0: `ip=${addresses[slot]}/24,gw=203.0.113.1`,
      });
    }
    for (const slot of slots) await ready(slot);
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    client?.close();
    await lab?.end();
  });

  /** The machine has booted, and the target on it answers with its number. */
  async function ready(slot: Slot): Promise<void> {
    await lab.booted(vmids[slot]);
    const answer = `printf "HTTP/1.1 200 OK\\\\r\\\\nContent-Length\\\\: 1\\\\r\\\\nConnection\\\\: close\\\\r\\\\n\\\\r\\\\n${slot}"`;
    await said(
      slot,
      `systemd-run --quiet --unit=target socat TCP-LISTEN:${targetPort},fork,reuseaddr SYSTEM:'${answer}'`,
    );
  }

  /** The output of a command line that must succeed. */
  async function said(slot: Slot, line: string): Promise<string> {
    const { exitcode, out } = await lab.shell(vmids[slot], line);
    expect(exitcode, `${line}: ${out}`).toBe(0);
    return out;
  }

  async function status(slot: Slot): Promise<LoadBalancerStatus> {
    const text = await said(slot, "kule-lb status");
    const seen = readStatus(text, ours);
    if (seen === null) throw new Error(`no status: ${text}`);
    return seen;
  }

  const load = (more: { readonly clients?: number; readonly timeoutMs?: number } = {}) =>
    new HttpLoad(internet(), { host: virtualAddress, port: 80, pauseMs: 10, clients: 4, ...more });
  function internet(): readonly string[] {
    const { wires } = lab.lab;
    if (wires === undefined) throw new Error("the lab has no wires");
    return wires.inInternet();
  }

  /** Both machines, one after the other, have the next generation. */
  async function change(more: Partial<LoadBalancerIntent> = {}): Promise<LoadBalancerIntent> {
    generation += 1;
    const intent = intentOf(generation, more);
    for (const slot of slots) await bring(guests[slot], bundleOf(slot, intent));
    return intent;
  }

  /** The machine that has the virtual address, once exactly one of the given ones has it. */
  async function master(among: readonly Slot[] = slots): Promise<Slot> {
    let found: Slot[] = [];
    await expect
      .poll(
        async () => {
          const roles = await Promise.all(
            among.map(async (slot) => ((await status(slot)).role === "master" ? [slot] : [])),
          );
          found = roles.flat();
          return found.length;
        },
        { timeout: 60_000 },
      )
      .toBe(1);
    return found[0] ?? 1;
  }

  const other = (slot: Slot): Slot => (slot === 1 ? 2 : 1);

  test("runs nothing before it has a state, and then serves both targets at one address", async () => {
    for (const slot of slots)
      expect(
        await said(slot, "systemctl is-enabled haproxy keepalived; systemctl is-active haproxy; true"),
      ).toBe("disabled\ndisabled\ninactive");
    const intent = await change();
    for (const slot of slots) {
      expect(await isBrought(guests[slot], bundleOf(slot, intent))).toBe(true);
      expect(await said(slot, "stat -c %a /run/kule-lb /run/kule-lb/*.sock")).toBe("700\n600\n600");
    }
    const first = await master();
    expect(await said(first, `ip -o address show to ${virtualAddress}`)).toContain(`${virtualAddress}/24`);
    await expect
      .poll(async () => (await status(first)).targets.map((target) => target.status), { timeout: 60_000 })
      .toEqual(["UP", "UP"]);
    const clients = load();
    await clients.until(({ bodies }) => (bodies["1"] ?? 0) > 10 && (bodies["2"] ?? 0) > 10);
    expect(lostOf(await clients.end())).toBe(0);
    expect(await status(first)).toMatchObject({ generation, role: "master", failedReloads: 0 });
    const boots = await Promise.all(slots.map(async (slot) => (await status(slot)).bootId));
    expect(new Set(boots).size).toBe(2);
  });

  test("loses no connection while one state follows the other", async () => {
    const clients = load();
    await clients.until(({ answered }) => answered > 50);
    for (const algorithm of ["least_connections", "source_hash", "round_robin"] as const) {
      const { answered } = clients.counts;
      await change({ algorithm });
      await clients.until((counts) => counts.answered > answered + 50);
    }
    const counts = await clients.end();
    expect(counts.lost, JSON.stringify(counts)).toEqual({});
    expect(await status(await master())).toMatchObject({ generation, failedReloads: 0 });
  });

  test("refuses a state that haproxy cannot load, and goes on with the one before", async () => {
    const slot = other(await master());
    const before = intentOf(generation);
    const clients = load();
    await clients.until(({ answered }) => answered > 50);
    const [listener = sampleListener] = before.listeners;
    // The target's own port, which is taken on this machine.
    const wrong = intentOf(generation + 1, {
      listeners: [listener, { ...listener, id: "lsn_taken", port: targetPort }],
    });
    const refused = await bring(guests[slot], bundleOf(slot, wrong)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failed);
    expect(await isBrought(guests[slot], bundleOf(slot, before))).toBe(true);
    expect(lostOf(await clients.end())).toBe(0);
    // What a machine has refused is never tried again under its generation.
    generation += 1;
    await change();
    await master();
  });

  test("moves the address within seconds when haproxy ends, and back only when it must", async () => {
    const first = await master();
    const clients = load({ timeoutMs: 1_000 });
    await clients.until(({ answered }) => answered > 50);
    await said(first, "systemctl stop haproxy");
    await expect.poll(async () => (await status(other(first))).role, { timeout: 30_000 }).toBe("master");
    await said(first, "systemctl start haproxy");
    await expect.poll(async () => (await status(first)).generation, { timeout: 30_000 }).toBe(generation);
    expect(await master()).toBe(other(first));
    const { answered } = clients.counts;
    await clients.until((counts) => counts.answered > answered + 50);
    const { longestGapMs } = await clients.end();
    expect(longestGapMs).toBeLessThan(10_000);
  });

  test("serves on when the machine with the address is switched off, and that one comes back without it", async () => {
    const first = await master();
    const before = await status(first);
    const clients = load({ timeoutMs: 1_000 });
    await clients.until(({ answered }) => answered > 50);
    // As a power cut: nothing in the guest hears of it.
    await lab.change(`POST ${vm(vmids[first])}/status/stop`);
    const { answered } = clients.counts;
    await clients.until((counts) => counts.answered > answered + 100);
    expect((await status(other(first))).role).toBe("master");
    expect((await clients.end()).longestGapMs).toBeLessThan(10_000);
    await lab.change(`POST ${vm(vmids[first])}/status/start`);
    await ready(first);
    await expect.poll(async () => (await status(first)).generation, { timeout: 60_000 }).toBe(generation);
    expect(await master()).toBe(other(first));
    const after = await status(first);
    expect(after).toMatchObject({ role: "backup", former: [] });
    expect(after.bootId).not.toBe(before.bootId);
  });

  test("serves again after its worker was killed", async () => {
    const first = await master();
    const { workerPid } = await status(first);
    await said(first, `kill -9 ${workerPid}`);
    await expect
      .poll(
        async () => {
          const seen = await status(first);
          return seen.workerPid !== null && seen.workerPid !== workerPid && seen.generation === generation;
        },
        { timeout: 60_000 },
      )
      .toBe(true);
    await master();
    const clients = load();
    await clients.until((counts) => counts.answered > 50);
    await clients.end();
  });
});
