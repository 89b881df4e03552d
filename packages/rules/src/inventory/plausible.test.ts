import { expect, test } from "vitest";
import { implausibleNode, implausibleStorage, plausibleUptime } from "./plausible.ts";

const node = {
  name: "pve1",
  online: true,
  maintenance: false,
  cpus: 64,
  memoryMb: 4096,
  memoryUsedMb: 4096,
  others: { memoryMb: 0, vcpu: 0 },
  servers: { count: 0, memoryMb: 0, vcpu: 0 },
  acceptedMemoryMb: 0,
};
const storage = { name: "ceph", node: null, totalGb: 100, usedGb: 101, acceptedGb: 0 };

test("figures that a machine can have are unchanged", () => {
  expect(implausibleNode(node)).toBeNull();
  expect(implausibleNode({ ...node, cpus: 8192, memoryMb: 64 * 2 ** 20 })).toBeNull();
  expect(implausibleNode({ ...node, online: false, cpus: 0, memoryMb: 0, memoryUsedMb: 0 })).toBeNull();
  expect(implausibleStorage(storage)).toBeNull();
  expect(implausibleStorage({ ...storage, totalGb: 4 * 2 ** 20 })).toBeNull();
  expect(plausibleUptime(0)).toBe(0);
  expect(plausibleUptime(10 * 366 * 86_400)).toBe(10 * 366 * 86_400);
});

test("impossible figures are reported", () => {
  expect(implausibleNode({ ...node, cpus: 8193 })).toBe("node pve1 reports 8193 CPUs");
  expect(implausibleNode({ ...node, memoryMb: 64 * 2 ** 20 + 1 })).toBe(
    "node pve1 reports 67108865 MB of memory",
  );
  expect(implausibleNode({ ...node, memoryUsedMb: 4097 })).toBe(
    "node pve1 reports 4097 of 4096 MB of memory used",
  );
  expect(implausibleStorage({ ...storage, totalGb: 4 * 2 ** 20 + 1 })).toBe(
    "storage ceph reports 4194305 GB",
  );
  expect(implausibleStorage({ ...storage, usedGb: 102 })).toBe("storage ceph reports 102 of 100 GB used");
  expect(plausibleUptime(4_000_000_000)).toBeNull();
});
