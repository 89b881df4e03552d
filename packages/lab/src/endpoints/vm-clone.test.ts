import { beforeAll, describe, expect, test } from "vitest";
import { call, finished, run } from "../api-client.ts";
import { effects } from "../effects.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await newLab();
});
const clone = async (where: Lab, form: Record<string, string | number>, source = 9000) =>
  await call(where, `POST /nodes/pve1/qemu/${source}/clone`, { form });
const config = async (where: Lab, vmid: number, node = "pve1") =>
  (await call(where, `GET /nodes/${node}/qemu/${vmid}/config`)).data;
const row = async (where: Lab, vmid: number) =>
  ((await call(where, "GET /cluster/resources?type=vm")).data as { vmid: number }[]).find(
    (r) => r.vmid === vmid,
  ) as Record<string, unknown> | undefined;
describe("a clone in progress", () => {
  test("shows no name and holds lock clone, then disk by disk becomes the VM", async () => {
    const slow = await newLab();
    await call(slow, "POST /pools", { form: { poolid: "p1" } });
    const form = {
      newid: 20300,
      name: "web",
      description: "kule:v1 srv=x",
      pool: "p1",
      full: 1,
      target: "pve2",
    };
    slow.faults.tasks.add({ type: "qmclone", action: "held", stage: "disk:ide2" });
    const began = await clone(slow, form);
    await slow.faults.tasks.whenHeld();
    const early = await row(slow, 20300);
    expect(early).toMatchObject({ vmid: 20300, node: "pve1", lock: "clone", status: "unknown" });
    for (const key of ["name", "tags", "pool"]) expect(early).not.toHaveProperty(key);
    const temporary = await config(slow, 20300);
    expect(temporary).toMatchObject({ description: " qmclone temporary file", lock: "clone" });
    expect(temporary).not.toHaveProperty("name");
    slow.faults.tasks.release();
    expect(await finished(slow, began.data)).toBe("OK");
    expect(await row(slow, 20300)).toMatchObject({ node: "pve2", pool: "p1", tags: "template" });
    expect(await config(slow, 20300, "pve1")).toBeNull();
    expect(await config(slow, 20300, "pve2")).toMatchObject({ name: "web" });
  });

  test("has its name and description after the first disk, still locked, and its pool last", async () => {
    const slow = await newLab();
    await call(slow, "POST /pools", { form: { poolid: "p1" } });
    const form = { newid: 20302, name: "web", description: "kule:v1 srv=x", pool: "p1", full: 1 };
    slow.faults.tasks.add({ type: "qmclone", action: "held", stage: "disk:scsi0" });
    const began = await clone(slow, form);
    await slow.faults.tasks.whenHeld();
    const partial = await config(slow, 20302);
    expect(partial).toMatchObject({ name: "web", description: "kule:v1 srv=x", lock: "clone" });
    expect(partial).not.toHaveProperty("scsi0");
    expect(slow.control.volumes(20302)).toEqual(["ceph-vm:vm-20302-cloudinit"]);
    slow.faults.tasks.add({ type: "qmclone", action: "held", stage: "pool" });
    slow.faults.tasks.release();
    expect(await finished(slow, began.data)).toBe("OK");
    const second = await clone(slow, { ...form, newid: 20303 });
    await slow.faults.tasks.whenHeld();
    const unpooled = await row(slow, 20303);
    expect(unpooled).not.toHaveProperty("lock");
    expect(unpooled).not.toHaveProperty("pool");
    slow.faults.tasks.release();
    await finished(slow, second.data);
    expect(await row(slow, 20303)).toMatchObject({ pool: "p1" });
  });

  test("keeps its number from others, and refuses every change with the name of its lock", async () => {
    const slow = await newLab();
    slow.faults.tasks.add({ type: "qmclone", action: "held", stage: "disk:ide2" });
    const began = await clone(slow, { newid: 20301, full: 1 });
    await slow.faults.tasks.whenHeld();
    const again = await clone(slow, { newid: 20301 });
    expect(again.reason).toBe("unable to create VM 20301: config file already exists");
    const form = { newid: 20304 };
    const copy = await call(slow, "POST /nodes/pve1/qemu/20301/clone", { form, as: "operator" });
    expect(copy.reason).toBe("VM is locked (clone)");
    // The clone's own task holds the file lock all along, so a change waits for that until its timeout.
    const change = await call(slow, "PUT /nodes/pve1/qemu/20301/config", { form: { cores: 2 } });
    expect(change.reason).toBe("can't lock file '/var/lock/qemu-server/lock-20301.conf' - got timeout");
    slow.faults.tasks.release();
    expect(await finished(slow, began.data)).toBe("OK");
  });
});

describe("a finished clone", () => {
  test("inherits everything of its template except MAC, UUIDs and the template flag", async () => {
    expect(await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20310, full: 1 } })).toBe(
      "OK",
    );
    const source = await config(lab, 9000);
    const copy = await config(lab, 20310);
    for (const key of [
      "tags",
      "ciuser",
      "cores",
      "memory",
      "agent",
      "boot",
      "ipconfig0",
      "serial0",
      "description",
    ]) {
      expect(copy[key], key).toBe(source[key]);
    }
    expect(copy.name).toBe("Copy-of-VM-ubuntu-24.04");
    expect(copy.template).toBeUndefined();
    expect(copy.net0).not.toBe(source.net0);
    expect(copy.net0).toMatch(/^virtio=BC:24:11:([0-9A-F]{2}:?){3},bridge=vmbr1,firewall=1$/);
    expect(copy.smbios1).not.toBe(source.smbios1);
    expect(copy.vmgenid).not.toBe(source.vmgenid);
    expect(copy.ide2).toBe("ceph-vm:vm-20310-cloudinit,media=cdrom,size=4M");
    expect(lab.control.volumes(20310)).toEqual(["ceph-vm:vm-20310-cloudinit", "ceph-vm:vm-20310-disk-0"]);
  });

  test("of a template is linked unless full is requested", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20311 } });
    const volumes = (await call(lab, "GET /nodes/pve1/storage/ceph-vm/content?vmid=20311")).data as {
      volid: string;
      parent?: string;
    }[];
    expect(volumes.find(({ volid }) => volid.endsWith("disk-0"))?.parent).toBe("ceph-vm:base-9000-disk-0");
    const answer = await clone(lab, { newid: 20312, storage: "ceph-vm" });
    expect(answer.reason).toBe("parameter 'storage' not allowed for linked clones");
    const destroyed = await run(lab, "DELETE /nodes/pve1/qemu/9000", { as: "operator" });
    expect(destroyed).toBe("base volume 'ceph-vm:base-9000-disk-0' is still in use by linked cloned");
  });

  test("has a copy of the template's firewall", async () => {
    const base = "/nodes/pve1/qemu";
    const form = { enable: 1, policy_in: "REJECT" };
    await call(lab, `PUT ${base}/9001/firewall/options`, { form, as: "operator" });
    await run(lab, `POST ${base}/9001/clone`, { form: { newid: 20313 } });
    expect((await call(lab, `GET ${base}/20313/firewall/options`)).data).toMatchObject({
      enable: 1,
      policy_in: "REJECT",
    });
  });
});

describe("a clone that cannot be", () => {
  test("is refused before the fork when the source or the number is wrong", async () => {
    const missing = await call(lab, "POST /nodes/pve1/qemu/9999/clone", {
      form: { newid: 20320 },
      as: "operator",
    });
    expect(missing.reason).toBe("unable to find configuration file for VM 9999 on node 'pve1'");
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20321 } });
    const taken = await clone(lab, { newid: 20321 });
    expect([taken.status, taken.reason]).toEqual([
      500,
      "unable to create VM 20321: config file already exists",
    ]);
  });

  test("fails in the task when another node has the number", async () => {
    lab.control.stealVmid(20322, "pve2");
    expect(await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20322 } })).toContain(
      "File exists",
    );
    expect(lab.control.vm(20322)?.config.name).toBe("stranger-20322");
  });

  test("needs a quorum", async () => {
    lab.control.loseQuorum();
    expect((await clone(lab, { newid: 20323 })).reason).toBe("cluster not ready - no quorum?");
    lab.control.regainQuorum();
  });

  test("waits one second for the source, then fails", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20324, full: 1 } });
    lab.faults.tasks.add({ type: "qmstart", action: "held", stage: "start" });
    const start = await call(lab, "POST /nodes/pve1/qemu/20324/status/start");
    await lab.faults.tasks.whenHeld();
    const form = { newid: 20325, full: 1 };
    const copied = await run(lab, "POST /nodes/pve1/qemu/20324/clone", { form, as: "operator" });
    expect(copied).toBe("can't lock file '/var/lock/qemu-server/lock-20324.conf' - got timeout");
    lab.faults.tasks.release();
    expect(await finished(lab, start.data)).toBe("OK");
  });

  test("waits for a busy storage, then rolls everything back", async () => {
    const busy = await newLab();
    const release = busy.control.holdStorageLock("ceph-vm");
    const status = await run(busy, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20326, full: 1 } });
    release();
    expect(status).toBe("clone failed: cfs-lock 'storage-ceph-vm' error: got lock request timeout");
    expect(busy.control.vm(20326)).toBeUndefined();
    expect(busy.control.volumes(20326)).toEqual([]);
  });
});

describe("a clone whose worker is killed", () => {
  test("leaves a locked VM with its volumes, which the token cannot start, change, unlock or destroy", async () => {
    lab.faults.tasks.add({ type: "qmclone", action: "killed", stage: "unlock" });
    const status = await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20330, full: 1 } });
    expect(status).toBe("unexpected status");
    expect(await row(lab, 20330)).toMatchObject({ lock: "clone" });
    expect(lab.control.volumes(20330)).toHaveLength(2);
    const base = "/nodes/pve1/qemu/20330";
    const locked = "VM is locked (clone)";
    expect((await call(lab, `PUT ${base}/config`, { form: { cores: 2 } })).reason).toBe(locked);
    expect(await run(lab, `POST ${base}/status/start`)).toBe(locked);
    expect(await run(lab, `DELETE ${base}?purge=1`)).toBe(locked);
    expect((await call(lab, `PUT ${base}/config?delete=lock`)).status).toBe(500);
    expect((await call(lab, `PUT ${base}/config?delete=lock&skiplock=1`)).status).toBe(400);
    // As with an operator's `qm unlock`.
    lab.control.unlock(20330);
    expect(await run(lab, `DELETE ${base}?purge=1`)).toBe("OK");
  });

  test("right after the first write shows only the temporary file", async () => {
    lab.faults.tasks.add({ type: "qmclone", action: "killed", stage: "firewall-copy" });
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20331 } });
    expect((await config(lab, 20331)).description).toContain("qmclone temporary file");
    expect(effects(lab.journal()).finishedClones.get(20331)).toBeUndefined();
  });
});
