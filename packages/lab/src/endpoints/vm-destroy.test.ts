import { beforeAll, describe, expect, test } from "vitest";
import { call, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await newLab();
});
const make = async (newid: number, extra: Record<string, string | number> = {}) =>
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid, full: 1, ...extra } });
const destroy = async (vmid: number, query = "?purge=1") =>
  await run(lab, `DELETE /nodes/pve1/qemu/${vmid}${query}`);

describe("destroy", () => {
  test("deletes the config, its disks, its firewall and its pool membership", async () => {
    await call(lab, "POST /pools", { form: { poolid: "p" } });
    await make(20700, { pool: "p" });
    await call(lab, "PUT /nodes/pve1/qemu/20700/firewall/options", { form: { enable: 1 } });
    const full = await call(lab, "DELETE /pools?poolid=p");
    expect(full.reason).toBe("delete pool failed: pool 'p' is not empty (contains VM 20700)");
    expect(await destroy(20700)).toBe("OK");
    expect(lab.control.volumes(20700)).toEqual([]);
    expect((await call(lab, "GET /pools?poolid=p")).data[0].members).toEqual([]);
    const gone = await call(lab, "GET /nodes/pve1/qemu/20700/config");
    expect([gone.status, gone.reason]).toEqual([
      500,
      "Configuration file 'nodes/pve1/qemu-server/20700.conf' does not exist",
    ]);
    await make(20700);
    expect((await call(lab, "GET /nodes/pve1/qemu/20700/firewall/options")).data).not.toHaveProperty(
      "enable",
    );
    expect((await call(lab, "DELETE /pools?poolid=p")).status).toBe(200);
  });

  test("refuses a running VM", async () => {
    await make(20701);
    await run(lab, "POST /nodes/pve1/qemu/20701/status/start");
    const answer = await call(lab, "DELETE /nodes/pve1/qemu/20701");
    expect([answer.status, answer.reason]).toEqual([500, "VM 20701 is running - destroy failed"]);
  });

  test("of a VM that is not there is an error, not a success", async () => {
    const answer = await call(lab, "DELETE /nodes/pve1/qemu/29998?purge=1");
    expect(answer.reason).toContain("does not exist");
  });

  test("leaves volumes that the config does not name, unless they are to be deleted too", async () => {
    await make(20702);
    lab.control.leaveVolume("ceph-vm", 20702);
    expect(await destroy(20702)).toBe("OK");
    const left = (await call(lab, "GET /nodes/pve1/storage/ceph-vm/content?vmid=20702")).data;
    expect(left.map(({ volid }: { volid: string }) => volid)).toEqual(["ceph-vm:vm-20702-disk-99"]);
    await make(20702);
    expect(await destroy(20702, "?purge=1&destroy-unreferenced-disks=1")).toBe("OK");
    expect(lab.control.volumes(20702)).toEqual([]);
  });

  test("ends with a warning when a disk cannot be removed, and the config is removed all the same", async () => {
    await make(20703);
    lab.faults.tasks.stuckVolumes.add("ceph-vm:vm-20703-disk-0");
    expect(await destroy(20703)).toBe("WARNINGS: 1");
    expect(lab.control.vm(20703)).toBeUndefined();
    expect(lab.control.volumes(20703)).toEqual(["ceph-vm:vm-20703-disk-0"]);
  });

  test("killed half-way leaves the number taken", async () => {
    await make(20704);
    lab.faults.tasks.add({ type: "qmdestroy", action: "killed", stage: "config" });
    expect(await destroy(20704)).toBe("unexpected status");
    expect((await call(lab, "GET /nodes/pve1/qemu/20704/config")).data).toMatchObject({ lock: "destroyed" });
  });
});

describe("migrate", () => {
  test("moves the config at the end; the old node's path is then unknown", async () => {
    await make(20710);
    const migrate = (target: string) => ({ form: { target }, as: "operator" });
    const local = await call(lab, "POST /nodes/pve1/qemu/20710/migrate", migrate("pve1"));
    expect(local.errors).toEqual({ target: "target is local node." });
    expect(await run(lab, "POST /nodes/pve1/qemu/20710/migrate", migrate("pve2"))).toBe("OK");
    expect((await call(lab, "GET /nodes/pve1/qemu/20710/config")).status).toBe(500);
    expect((await call(lab, "GET /nodes/pve2/qemu/20710/config")).status).toBe(200);
  });

  test("continues in another process there, and again on its way back, while its guest runs on", async () => {
    await make(20711);
    await run(lab, "POST /nodes/pve1/qemu/20711/status/start");
    const first = lab.control.vm(20711)?.process;
    const form = { target: "pve2", online: 1 };
    expect(await run(lab, "POST /nodes/pve1/qemu/20711/migrate", { form, as: "operator" })).toBe("OK");
    const there = lab.control.vm(20711)?.process;
    lab.control.migrateVm(20711, "pve1");
    const back = lab.control.vm(20711)?.process;
    expect(new Set([first?.pid, there?.pid, back?.pid]).size).toBe(3);
    expect([there, back].map((process) => process?.guestBootAt)).toEqual([
      first?.guestBootAt,
      first?.guestBootAt,
    ]);
    const { data } = await call(lab, "GET /nodes/pve1/qemu/20711/status/current");
    expect(data.pid).toBe(back?.pid);
  });
});
