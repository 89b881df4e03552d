import { LinuxEdge } from "@kule/edge/linux-edge";
import { EdgeUnreachable, type Runner } from "@kule/edge/runner";
import { MemoryMachine } from "@kule/edge/testing/memory-machine";
import { expect, test } from "vitest";
import { checkEdge } from "./check-edge.ts";
import { edgeHealth } from "./edge-health.ts";
import { agentRuntime } from "./runtime.ts";

const wiring = {
  uplink: { interface: "wan0" },
  trunk: { interface: "trunk0", mode: "vlan" as const },
};
const machine = new MemoryMachine(wiring);
const silent: Runner = { run: () => Promise.reject(new EdgeUnreachable("no answer from 192.0.2.1")) };
const check = (runner: Runner = machine, more: object = {}) => {
  const edge = { kind: "linux" as const, transport: "local" as const, ...wiring, ...more };
  return checkEdge({ edge }, agentRuntime, () => ({ edge: new LinuxEdge(runner, wiring), end: () => {} }));
};

test("an edge that agrees with the region file is well, and stays unchanged", async () => {
  expect(await check()).toMatchObject([{ check: "edge", ok: true }]);
  expect(machine.journal).toEqual([]);
});

test("a region without an edge has nothing to check", async () => {
  expect(await checkEdge({ edge: null }, agentRuntime)).toEqual([]);
});

test("an interface that is not there is named", async () => {
  const [found] = await check(machine, { uplink: { interface: "wan7" } });
  expect(found).toMatchObject({ ok: false, found: "has no interface wan7" });
});

test("an edge that does not answer is reported, with what to do", async () => {
  const [found] = await check(silent);
  expect(found).toMatchObject({ ok: false, found: "no answer from 192.0.2.1", fix: expect.any(String) });
});

test("health reports whether the edge answers, and of which networks it has a namespace", async () => {
  machine.execute({ words: ["ip", "netns", "add", "kule-net_1"] });
  machine.execute({ words: ["ip", "netns", "add", "somebody"] });
  expect(await edgeHealth(new LinuxEdge(machine, wiring), agentRuntime)).toEqual({
    reachable: true,
    networks: ["net_1"],
  });
  expect(await edgeHealth(new LinuxEdge(silent, wiring), agentRuntime)).toEqual({
    reachable: false,
    message: "no answer from 192.0.2.1",
  });
  expect(await edgeHealth(null, agentRuntime)).toBeNull();
});
