import fc from "fast-check";
import { expect, test } from "vitest";
import { resolveTargets, type StoredTarget, type TargetServer } from "./resolve-targets.ts";

const target = (id: string, more: Partial<StoredTarget>): StoredTarget => ({
  id,
  serverId: null,
  labelSelector: null,
  address: null,
  weight: 1,
  backup: false,
  drain: false,
  ...more,
});
const server = (index: number, labels: { [key: string]: string } = { role: "web" }): TargetServer => ({
  id: `srv_${String(index).padStart(4, "0")}`,
  labels,
  address: `10.0.${Math.floor(index / 200)}.${10 + (index % 200)}`,
});
const names = (resolution: ReturnType<typeof resolveTargets>) =>
  resolution.targets.map(({ targetId, selectedServerId, address }) => [targetId, selectedServerId, address]);

test("a label selector gives the servers with the labels that have an address, the oldest first", () => {
  const servers = [server(3), server(1), server(2, { role: "db" }), { ...server(4), address: null }];
  expect(names(resolveTargets([target("tgt_a", { labelSelector: "role=web" })], servers))).toEqual([
    ["tgt_a", "srv_0001", "10.0.0.11"],
    ["tgt_a", "srv_0003", "10.0.0.13"],
  ]);
});

test("a server that is named and selected is there once, as the named one", () => {
  const targets = [
    target("tgt_a", { labelSelector: "role=web" }),
    target("tgt_b", { serverId: "srv_0001", weight: 9 }),
    target("tgt_c", { address: "10.0.0.12" }),
  ];
  expect(names(resolveTargets(targets, [server(1), server(2), server(3)]))).toEqual([
    ["tgt_b", null, "10.0.0.11"],
    ["tgt_c", null, "10.0.0.12"],
    ["tgt_a", "srv_0003", "10.0.0.13"],
  ]);
});

test("what is beyond the limit is counted, and new servers never push out older ones", () => {
  const targets = [target("tgt_a", { labelSelector: "role=web" }), target("tgt_b", { address: "10.9.9.9" })];
  const few = Array.from({ length: 255 }, (_, index) => server(index));
  const more = [...few, server(300), server(301)];
  const full = resolveTargets(targets, more);
  expect(full.targets).toHaveLength(256);
  expect([...full.leftOut]).toEqual([["tgt_a", 2]]);
  expect(names(full)).toEqual(names(resolveTargets(targets, few)));
});

test("a server that is not there any more gives nothing", () => {
  expect(resolveTargets([target("tgt_a", { serverId: "srv_gone" })], [server(1)]).targets).toEqual([]);
});

test("the order of servers and targets in the database has no meaning", () => {
  const servers = Array.from({ length: 6 }, (_, index) => server(index));
  const targets = [
    target("tgt_a", { labelSelector: "role" }),
    target("tgt_b", { serverId: "srv_0002" }),
    target("tgt_c", { labelSelector: "role=web" }),
  ];
  const expected = resolveTargets(targets, servers, 4);
  fc.assert(
    fc.property(
      fc.shuffledSubarray(servers, { minLength: 6 }),
      fc.shuffledSubarray(targets, { minLength: 3 }),
      (turnedServers, turnedTargets) => {
        expect(resolveTargets(turnedTargets, turnedServers, 4)).toEqual(expected);
      },
    ),
  );
});
