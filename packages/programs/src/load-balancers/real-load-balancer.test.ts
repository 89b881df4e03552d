// Two machines of a load balancer that really boot, with what the rules render for them.

import { sampleListener } from "@kule/rules/load-balancers/testing/sample-intents";
import { lostOf } from "@kule/testing/packets/http-load";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "@kule/testing/real-guests/real-guests-part";
import { BOOT_MS } from "@kule/testing/real-guests/real-lab";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Failed } from "../errors.ts";
import {
  farClients,
  otherSlot,
  publicAddress,
  RealLoadBalancer,
  slots,
  targetPort,
  withPublicAddress,
} from "../testing/real-load-balancer.ts";

const part = await requireRealGuests(import.meta.filename, "kule-lb");
/** Of clients that wait for answers of a machine that has just been lost. */
const LONGEST_GAP_MS = 15_000;

describe.skipIf(part.missing)("A load balancer of two real machines", { timeout: 4 * BOOT_MS }, () => {
  let balancer: RealLoadBalancer;
  beforeAll(async () => {
    balancer = await RealLoadBalancer.start();
  }, IMAGE_TIMEOUT_MS);
  afterEach(() => balancer?.endLoads());
  afterAll(() => balancer?.end());

  const load = (timeoutMs = 5_000) => balancer.load({ clients: 4, pauseMs: 10, timeoutMs });

  test("runs nothing before it has a state, and then serves both targets at one address", async () => {
    for (const slot of slots)
      expect(
        await balancer.said(
          slot,
          "systemctl is-enabled haproxy keepalived; systemctl is-active haproxy; true",
        ),
      ).toBe("disabled\ndisabled\ninactive");
    await balancer.change();
    for (const slot of slots) {
      expect(await balancer.has(slot)).toBe(true);
      expect(await balancer.said(slot, "stat -c %a /run/kule-lb /run/kule-lb/*.sock")).toBe("700\n600\n600");
    }
    const first = await balancer.master();
    await balancer.until("both targets are up", async () =>
      (await balancer.status(first)).targets.every(({ status }) => status === "UP"),
    );
    const clients = load();
    await clients.until(({ bodies }) => (bodies["1"] ?? 0) > 10 && (bodies["2"] ?? 0) > 10);
    expect(lostOf(await clients.end())).toBe(0);
    expect(await balancer.status(first)).toMatchObject({ generation: 1, role: "master", failedReloads: 0 });
    const boots = await Promise.all(slots.map(async (slot) => (await balancer.status(slot)).bootId));
    expect(new Set(boots).size).toBe(2);
  });

  test("loses no connection while one state follows the other", async () => {
    const clients = load();
    await clients.until(({ answered }) => answered > 50);
    for (const algorithm of ["least_connections", "source_hash", "round_robin"] as const) {
      const { answered } = clients.counts;
      await balancer.change({ algorithm });
      await clients.until((counts) => counts.answered > answered + 50);
    }
    expect((await clients.end()).lost).toEqual({});
    const seen = await balancer.status(await balancer.master());
    expect(seen).toMatchObject({ generation: balancer.intent.generation, failedReloads: 0 });
  });

  test("refuses a state that haproxy cannot load, and goes on with the one before", async () => {
    const slot = otherSlot(await balancer.master());
    const wrong = balancer.next();
    const [listener = sampleListener] = wrong.listeners;
    // The target's own port, which is taken on this machine.
    const listeners = [...wrong.listeners, { ...listener, id: "lsn_taken", port: targetPort }];
    const refused = await balancer.put(slot, { ...wrong, listeners }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failed);
    expect(await balancer.has(slot)).toBe(true);
    balancer.intent = { ...balancer.intent, generation: wrong.generation };
    await balancer.change();
    for (const each of slots) expect(await balancer.has(each)).toBe(true);
  });

  test("moves the address when haproxy ends, and not back when it runs again", async () => {
    const first = await balancer.master();
    const clients = load(1_000);
    await clients.until(({ answered }) => answered > 50);
    await balancer.said(first, "systemctl stop haproxy");
    await balancer.until(
      "the other machine has the address",
      async () => (await balancer.status(otherSlot(first))).role === "master",
    );
    await balancer.said(first, "systemctl start haproxy");
    await balancer.until("haproxy serves again", () => balancer.has(first));
    expect(await balancer.master()).toBe(otherSlot(first));
    const { answered } = clients.counts;
    await clients.until((counts) => counts.answered > answered + 50);
    expect((await clients.end()).longestGapMs).toBeLessThan(LONGEST_GAP_MS);
  });

  test("serves on when the machine with the address is cut off, which comes back without it", async () => {
    const first = await balancer.master();
    const before = await balancer.status(first);
    const clients = load(1_000);
    await clients.until(({ answered }) => answered > 50);
    await balancer.cut(first);
    const { answered } = clients.counts;
    await clients.until((counts) => counts.answered > answered + 100);
    expect((await balancer.status(otherSlot(first))).role).toBe("master");
    expect((await clients.end()).longestGapMs).toBeLessThan(LONGEST_GAP_MS);
    await balancer.switchOn(first);
    await balancer.until("the machine serves again", () => balancer.has(first));
    expect(await balancer.master()).toBe(otherSlot(first));
    const after = await balancer.status(first);
    expect(after).toMatchObject({ role: "backup", former: [] });
    expect(after.bootId).not.toBe(before.bootId);
  });

  /** keepalived has the address before it has the routes and rules of it. */
  const comesTo = (slot: (typeof slots)[number]) =>
    balancer.until("the active machine has the public address", () =>
      balancer.hasPublicAddress(slot).catch(() => false),
    );

  test("serves at a public address, from near and far, which moves with the machine that is active", async () => {
    const hasNone = async () => {
      for (const slot of slots) expect(await balancer.hasPublicAddress(slot)).toBe(false);
    };
    await hasNone();
    await balancer.change({ highAvailability: withPublicAddress });
    const first = await balancer.master();
    await comesTo(first);
    expect(await balancer.hasPublicAddress(otherSlot(first))).toBe(false);
    // Its own way out is where it was.
    expect(await balancer.said(first, "ip route get 192.0.2.99")).toContain("via 203.0.113.1 dev eth0");
    const order = { host: publicAddress, clients: 2, pauseMs: 10, timeoutMs: 1_000 };
    const clients = [balancer.load(order), balancer.load({ ...order, from: farClients })];
    for (const each of clients) await each.until(({ answered }) => answered > 50);
    await balancer.cut(first);
    for (const each of clients) {
      const { answered } = each.counts;
      await each.until((counts) => counts.answered > answered + 100);
    }
    await comesTo(otherSlot(first));
    for (const each of clients) expect((await each.end()).longestGapMs).toBeLessThan(LONGEST_GAP_MS);
    await balancer.switchOn(first);
    await balancer.until("the machine serves again", () => balancer.has(first));
    expect(await balancer.master()).toBe(otherSlot(first));
    expect(await balancer.hasPublicAddress(first)).toBe(false);
    await balancer.change();
    await balancer.until("nobody has the address any more", async () => {
      const having = await Promise.all(
        slots.map((slot) => balancer.hasPublicAddress(slot).catch(() => true)),
      );
      return !having.includes(true);
    });
  });

  test("keeps its addresses, and the way of its answers, when its network daemon starts again", async () => {
    await balancer.change({ highAvailability: withPublicAddress });
    const first = await balancer.master();
    await comesTo(first);
    const order = { host: publicAddress, clients: 2, pauseMs: 10, timeoutMs: 1_000 };
    const clients = [load(1_000), balancer.load(order), balancer.load({ ...order, from: farClients })];
    for (const each of clients) await each.until(({ answered }) => answered > 50);
    // As an update of systemd does.
    for (const slot of slots) await balancer.said(slot, "systemctl restart systemd-networkd");
    for (const each of clients) {
      const { answered } = each.counts;
      await each.until((counts) => counts.answered > answered + 100);
      expect(lostOf(await each.end())).toBe(0);
    }
    expect(await balancer.master()).toBe(first);
    expect(await balancer.hasPublicAddress(first)).toBe(true);
    expect(await balancer.hasPublicAddress(otherSlot(first))).toBe(false);
    await balancer.change();
  });

  test("serves again after its worker was killed", async () => {
    const first = await balancer.master();
    const { workerPid } = await balancer.status(first);
    await balancer.said(first, `kill -9 ${workerPid}`);
    await balancer.until("another worker serves", async () => {
      const seen = await balancer.status(first);
      return seen.workerPid !== null && seen.workerPid !== workerPid && (await balancer.has(first));
    });
    await balancer.master();
    const clients = load();
    await clients.until((counts) => counts.answered > 50);
    await clients.end();
  });
});
