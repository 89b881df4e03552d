import fc from "fast-check";
import { expect, test } from "vitest";
import {
  capacityFor,
  chooseNode,
  chooseNodeAgain,
  freeMemoryMb,
  freeVcpu,
  hasCapacityToGrow,
  type NodeCapacity,
  type Region,
  totalCapacity,
} from "./capacity.ts";

const node = (more: Partial<NodeCapacity> = {}): NodeCapacity => ({
  name: "pve1",
  online: true,
  maintenance: false,
  cpus: 16,
  memoryMb: 100_000,
  memoryUsedMb: 4_000,
  others: { memoryMb: 0, vcpu: 0 },
  servers: { count: 0, memoryMb: 0, vcpu: 0 },
  acceptedMemoryMb: 0,
  ...more,
});
const storage = { name: "ceph", node: null, totalGb: 10_000, usedGb: 0, acceptedGb: 0 };
const need = { vcpu: 2, memoryMb: 4_096, diskGb: 80 };
const region = (...nodes: NodeCapacity[]): Region => ({ nodes, storages: [storage] });

test("memory is what is measured or what is promised, whichever leaves less", () => {
  expect(freeMemoryMb(node())).toBe(95_000);
  expect(freeMemoryMb(node({ memoryUsedMb: 90_000 }))).toBe(10_000);
  expect(freeMemoryMb(node({ memoryUsedMb: 90_000, acceptedMemoryMb: 8_000 }))).toBe(2_000);
  expect(freeMemoryMb(node({ servers: { count: 9, memoryMb: 80_000, vcpu: 9 } }))).toBe(15_000);
  expect(freeMemoryMb(node({ others: { memoryMb: 200_000, vcpu: 0 } }))).toBe(0);
});

test("a node that is down or in maintenance has no capacity", () => {
  for (const more of [{ online: false }, { maintenance: true }]) {
    expect(freeVcpu(node(more))).toBe(0);
    expect(chooseNode(region(node(more)), need, null)).toBeNull();
  }
});

test("no VM gets more vCPUs than its node has CPUs", () => {
  expect(chooseNode(region(node({ cpus: 8 })), { ...need, vcpu: 12 }, null)).toBeNull();
});

test("the node with most capacity is chosen, of those where the image can be created", () => {
  const nodes = [
    node({ name: "a", memoryUsedMb: 60_000 }),
    node({ name: "b" }),
    node({ name: "c", cpus: 1 }),
  ];
  expect(chooseNode(region(...nodes), need, null)).toBe("b");
  expect(chooseNode(region(...nodes), need, ["a", "c"])).toBe("a");
  expect(chooseNode(region(...nodes), need, ["c"])).toBeNull();
});

test("a shared storage counts once, however many nodes use it", () => {
  const small = { ...storage, totalGb: 300 };
  const two = { nodes: [node({ name: "a" }), node({ name: "b" })], storages: [small] };
  expect(capacityFor(two, need, null).map(({ fits }) => fits)).toEqual([3, 3]);
  expect(totalCapacity(two, need, null)).toBe(3);
  expect(chooseNode({ ...two, storages: [{ ...small, usedGb: 280 }] }, need, null)).toBeNull();
  expect(totalCapacity({ ...two, storages: [] }, need, null)).toBeGreaterThan(3);
});

test("what is placed one after the other never exceeds what was said to fit", () => {
  const amount = fc.integer({ min: 0, max: 200_000 });
  fc.assert(
    fc.property(amount, amount, fc.integer({ min: 1, max: 64 }), (memoryMb, memoryUsedMb, cpus) => {
      let one = node({ memoryMb, memoryUsedMb, cpus });
      const fits = totalCapacity(region(one), need, null);
      for (let placed = 0; placed < fits; placed++) {
        expect(chooseNode(region(one), need, null)).toBe("pve1");
        const { count, memoryMb: memory, vcpu } = one.servers;
        one = {
          ...one,
          servers: { count: count + 1, memoryMb: memory + need.memoryMb, vcpu: vcpu + need.vcpu },
          acceptedMemoryMb: one.acceptedMemoryMb + need.memoryMb,
        };
      }
      if (fits < 118) expect(chooseNode(region(one), need, null)).toBeNull();
    }),
  );
});

test("a server grows where it is, by what it adds", () => {
  const has = { vcpu: 2, memoryMb: 4_096, diskGb: 80 };
  const to = (more: Partial<typeof has>) => ({ ...has, ...more });
  const here = region(node({ name: "a", memoryUsedMb: 98_000 }), node({ name: "b" }));
  expect(hasCapacityToGrow(here, "a", has, to({ memoryMb: 6_096 }))).toBe(true);
  expect(hasCapacityToGrow(here, "a", has, to({ memoryMb: 6_097 }))).toBe(false);
  expect(hasCapacityToGrow(here, "b", has, to({ memoryMb: 6_097 }))).toBe(true);
  // Its node is unknown: any node will do. An unknown node is no reason to refuse.
  expect(hasCapacityToGrow(here, null, has, to({ memoryMb: 6_097 }))).toBe(true);
  expect(hasCapacityToGrow(here, "gone", has, to({ memoryMb: 600_000 }))).toBe(true);
  // Over-full, it can still get smaller, or only its disk larger.
  const full = region(
    node({ name: "a", memoryUsedMb: 100_000, servers: { count: 99, memoryMb: 2e5, vcpu: 99 } }),
  );
  expect(hasCapacityToGrow(full, "a", has, to({ memoryMb: 2_048, vcpu: 1 }))).toBe(true);
  expect(hasCapacityToGrow(full, "a", has, to({ diskGb: 500 }))).toBe(true);
  expect(hasCapacityToGrow(full, "a", has, to({ vcpu: 3 }))).toBe(false);
  expect(hasCapacityToGrow(region(node({ name: "a", cpus: 2 })), "a", has, to({ vcpu: 3 }))).toBe(false);
  const small = { nodes: [node({ name: "a" })], storages: [{ ...storage, totalGb: 100 }] };
  expect(hasCapacityToGrow(small, "a", has, to({ diskGb: 175 }))).toBe(true);
  expect(hasCapacityToGrow(small, "a", has, to({ diskGb: 176 }))).toBe(false);
  const others = { nodes: [node({ name: "a" })], storages: [{ ...storage, node: "b" }] };
  expect(hasCapacityToGrow(others, "a", has, to({ diskGb: 81 }))).toBe(false);
});

test("a server that is placed again stays on its node while there is capacity", () => {
  const small = node({ name: "a", memoryMb: 8_000 });
  const nodes = region(small, node({ name: "b" }));
  expect(chooseNodeAgain(nodes, "a", { ...need, memoryMb: 3_000 }, null)).toBe("a");
  expect(chooseNodeAgain(nodes, "a", need, null)).toBe("b");
  expect(chooseNodeAgain(nodes, "a", { ...need, memoryMb: 3_000 }, ["b"])).toBe("b");
  expect(chooseNodeAgain(nodes, null, need, null)).toBe("b");
  expect(chooseNodeAgain(region({ ...small, online: false }), "a", need, null)).toBeNull();
});
