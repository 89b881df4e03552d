import { beforeAll, describe, expect, test } from "vitest";
import { call, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
const STOPPED = "/nodes/pve1/qemu/20400";
const RUNNING = "/nodes/pve1/qemu/20401";
beforeAll(async () => {
  lab = await newLab();
  for (const newid of [20400, 20401]) {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid, full: 1, name: `vm${newid}` } });
  }
  await run(lab, "POST /nodes/pve1/qemu/20401/status/start");
});
const config = async (vm: string, query = "") => (await call(lab, `GET ${vm}/config${query}`)).data;
const put = async (vm: string, form: Record<string, string | number>) =>
  await call(lab, `PUT ${vm}/config`, { form });
const pendingOf = async (vm: string) =>
  (
    (await call(lab, `GET ${vm}/pending`)).data as { key: string; pending?: unknown; delete?: number }[]
  ).filter((entry) => entry.pending !== undefined || entry.delete !== undefined);

describe("a stopped VM", () => {
  test("applies every change at once and leaves nothing pending", async () => {
    expect((await put(STOPPED, { cores: 4, memory: 2048, name: "renamed" })).data).toBeNull();
    expect(await config(STOPPED)).toMatchObject({ cores: 4, memory: "2048", name: "renamed" });
    expect(await pendingOf(STOPPED)).toEqual([]);
  });

  test("deletes what is requested, and only warns about missing things", async () => {
    expect((await put(STOPPED, { delete: "serial0,startdate" })).status).toBe(200);
    expect(await config(STOPPED)).not.toHaveProperty("serial0");
  });

  test("accepts an empty description and empty tags, and has none then", async () => {
    await put(STOPPED, { description: "something", tags: "one;two" });
    expect((await put(STOPPED, { description: "", tags: "" })).status).toBe(200);
    const { description = "", tags = "" } = await config(STOPPED);
    expect([description, tags]).toEqual(["", ""]);
  });

  test("names a hook script that does not exist", async () => {
    const { status, errors } = await put(STOPPED, { hookscript: "local:snippets/absent.pl" });
    expect([status, errors]).toEqual([
      400,
      { hookscript: "script 'local:snippets/absent.pl' does not exist" },
    ]);
  });

  test("allows only root to set or delete a hook script", async () => {
    expect((await put(STOPPED, { delete: "hookscript" })).reason).toBe(
      "only root can set 'hookscript' config",
    );
  });

  test("refuses to set and delete one key in one call, and keys that do not exist", async () => {
    const both = await put(STOPPED, { cores: 2, delete: "cores" });
    expect(both.errors?.delete).toContain("at the same time");
    expect((await put(STOPPED, { delete: "nonsense" })).errors).toEqual({
      delete: "unknown option 'nonsense'",
    });
    expect((await put(STOPPED, {})).reason).toBe("no options specified");
  });

  test("refuses a balloon above the memory and a boot device that is not there", async () => {
    expect((await put(STOPPED, { memory: 1024, balloon: 2048 })).reason).toContain("balloon value too large");
    expect((await put(STOPPED, { boot: "order=scsi5" })).reason).toBe(
      "invalid bootorder: device 'scsi5' does not exist'",
    );
  });
});

describe("the digest", () => {
  test("accepts only one of two concurrent writes", async () => {
    const { digest } = await config(STOPPED);
    expect((await put(STOPPED, { digest, onboot: 1 })).status).toBe(200);
    const late = await put(STOPPED, { digest, onboot: 0 });
    expect([late.status, late.reason]).toEqual([500, "checksum mismatch (file change by other user?)"]);
    expect((await call(lab, `POST ${STOPPED}/config`, { form: { digest, cores: 2 } })).reason).toContain(
      "checksum mismatch",
    );
    expect(
      await run(lab, `PUT ${STOPPED}/resize`, { form: { disk: "scsi0", size: "40G", digest } }),
    ).toContain("checksum mismatch");
  });

  test("changes when the file is changed between reading and writing", async () => {
    const { digest } = await config(STOPPED);
    lab.faults.add({
      method: "PUT",
      path: "20400/config",
      action: "world-before",
      do: "touchConfig",
      args: [20400],
    });
    expect((await put(STOPPED, { digest, cores: 3 })).reason).toContain("checksum mismatch");
  });
});

describe("network devices", () => {
  test("keep a MAC that is sent, in its own case, and get a new one on every PUT without", async () => {
    await put(STOPPED, { net0: "model=virtio,macaddr=02:aa:bb:cc:dd:ee,tag=120,firewall=1,bridge=vmbr1" });
    expect((await config(STOPPED)).net0).toBe("virtio=02:aa:bb:cc:dd:ee,bridge=vmbr1,firewall=1,tag=120");
    const without = async () => {
      await put(STOPPED, { net0: "virtio,bridge=vmbr1" });
      return (await config(STOPPED)).net0;
    };
    expect(await without()).not.toBe(await without());
  });

  test("change bridge, VLAN and firewall on a running VM, while queues replug and a missing bridge is a hotplug problem", async () => {
    const mac = "02:00:00:00:04:01";
    await put(RUNNING, { net0: `virtio=${mac},bridge=vmbr1,tag=5` });
    expect(await pendingOf(RUNNING)).toEqual([]);
    await run(lab, `POST ${RUNNING}/config`, { form: { hotplug: "disk,usb" } });
    await put(RUNNING, { net0: `virtio=${mac},bridge=vmbr1,tag=6` });
    expect(await pendingOf(RUNNING)).toEqual([]);
    await put(RUNNING, { net0: `virtio=${mac},bridge=vmbr1,tag=6,queues=4` });
    expect((await pendingOf(RUNNING)).map(({ key }) => key)).toEqual(["net0"]);
    const form = { net0: `virtio=${mac},bridge=vmbr8,tag=6`, description: "kept" };
    const broken = await call(lab, `PUT ${RUNNING}/config`, { form, as: "operator" });
    expect([broken.status, broken.errors]).toEqual([
      400,
      { net0: "hotplug problem - bridge 'vmbr8' does not exist\n" },
    ]);
    expect((await config(RUNNING)).description).toBe("kept");
    const inTask = await run(lab, `POST ${RUNNING}/config`, { form, as: "operator" });
    expect(inTask).toContain("400 Parameter verification failed.\nnet0: hotplug problem");
    await put(RUNNING, { revert: "net0" });
    expect(await pendingOf(RUNNING)).toEqual([]);
  });
});

describe("a running VM", () => {
  test("keeps cores and memory pending, silently, until a cold start", async () => {
    const answer = await put(RUNNING, { cores: 8, memory: 8192, name: "now", onboot: 1 });
    expect([answer.status, answer.data]).toEqual([200, null]);
    expect((await pendingOf(RUNNING)).map(({ key, pending }) => [key, pending])).toEqual([
      ["cores", 8],
      ["memory", "8192"],
    ]);
    expect(await config(RUNNING)).toMatchObject({ cores: 8, name: "now", onboot: 1 });
    expect(await config(RUNNING, "?current=1")).toMatchObject({ cores: 1, name: "now" });
    await run(lab, `POST ${RUNNING}/status/reset`);
    expect(await pendingOf(RUNNING)).toHaveLength(2);
    await run(lab, `POST ${RUNNING}/status/stop`);
    await run(lab, `POST ${RUNNING}/status/start`);
    expect(await pendingOf(RUNNING)).toEqual([]);
    expect(await config(RUNNING, "?current=1")).toMatchObject({ cores: 8 });
  });

  test("marks a deletion that must wait", async () => {
    await put(RUNNING, { delete: "vga" });
    expect(await pendingOf(RUNNING)).toEqual([{ key: "vga", value: "serial0", delete: 1 }]);
    expect(await config(RUNNING)).not.toHaveProperty("vga");
    expect(await config(RUNNING, "?current=1")).toHaveProperty("vga");
    await put(RUNNING, { revert: "vga" });
    expect(await pendingOf(RUNNING)).toEqual([]);
  });
});

describe("description and tags", () => {
  test("tags are returned in lower case, once each, sorted, with semicolons", async () => {
    await put(STOPPED, { tags: "kule,Srv-B org-a;kule" });
    expect((await config(STOPPED)).tags).toBe("kule;org-a;srv-b");
    expect((await put(STOPPED, { tags: "a:b" })).errors?.tags).toContain("invalid characters in tag");
  });

  test("a description keeps its lines and loses trailing white space", async () => {
    await put(STOPPED, { description: "kule:v1 srv=x\n# Überschrift 100%\n\n  " });
    expect((await config(STOPPED)).description).toBe("kule:v1 srv=x\n# Überschrift 100%");
    expect((await put(STOPPED, { description: "x".repeat(8193) })).errors?.description).toBe(
      "value may only be 8192 characters long",
    );
  });
});

describe("disks", () => {
  test("a size is allocated each time it is sent, and the disk before becomes unused0", async () => {
    expect(await run(lab, `POST ${STOPPED}/config`, { form: { scsi1: "ceph-vm:8" } })).toBe("OK");
    expect((await config(STOPPED)).scsi1).toBe("ceph-vm:vm-20400-disk-1,size=8G");
    await run(lab, `POST ${STOPPED}/config`, { form: { scsi1: "ceph-vm:8" } });
    expect(await config(STOPPED)).toMatchObject({
      scsi1: "ceph-vm:vm-20400-disk-2,size=8G",
      unused0: "ceph-vm:vm-20400-disk-1",
    });
  });

  test("a disk that is deleted is only detached; deleting unusedN frees it", async () => {
    await put(STOPPED, { delete: "scsi1" });
    expect((await config(STOPPED)).unused1).toBe("ceph-vm:vm-20400-disk-2");
    await put(STOPPED, { delete: "unused0,unused1" });
    expect(lab.control.volumes(20400)).toEqual(["ceph-vm:vm-20400-cloudinit", "ceph-vm:vm-20400-disk-0"]);
  });

  test("a second cloud-init drive is refused", async () => {
    const form = { ide0: "ceph-vm:cloudinit" };
    expect((await put(STOPPED, form)).reason).toBe("Permission check failed (/vms/20400, VM.Config.CDROM)");
    const answer = await call(lab, `PUT ${STOPPED}/config`, { form, as: "operator" });
    expect(answer.reason).toBe("ide0 - cloud-init drive is already attached at 'ide2'");
  });

  test("grow to an absolute size, stay when it is equal, and never shrink", async () => {
    const resize = async (size: string) =>
      await run(lab, `PUT ${STOPPED}/resize`, { form: { disk: "scsi0", size } });
    expect(await resize("40G")).toBe("OK");
    expect((await config(STOPPED)).scsi0).toContain("size=40G");
    const { digest } = await config(STOPPED);
    expect(await resize("40G")).toBe("OK");
    expect((await config(STOPPED)).digest).toBe(digest);
    expect(await resize("20G")).toBe("shrinking disks is not supported");
    expect(await resize("+512M")).toBe("OK");
    expect((await config(STOPPED)).scsi0).toContain("size=41472M");
    const wrong = await call(lab, `PUT ${STOPPED}/resize`, { form: { disk: "scsi0", size: "big" } });
    expect(wrong.errors?.size).toBe("value does not match the regex pattern");
  });
});

describe("a protected VM", () => {
  test("loses neither its disks nor itself", async () => {
    await put(STOPPED, { protection: 1 });
    expect((await put(STOPPED, { delete: "scsi0" })).reason).toBe(
      "can't remove drive 'scsi0' - protection mode enabled",
    );
    const destroyed = await call(lab, `DELETE ${STOPPED}?purge=1`);
    expect([destroyed.status, destroyed.reason]).toEqual([
      500,
      "can't remove VM 20400 - protection mode enabled",
    ]);
    await put(STOPPED, { protection: 0 });
  });
});

describe("a VM of an operator's making", () => {
  test("can be created, turned into a template, and cloned", async () => {
    const form = {
      vmid: 20450,
      name: "own",
      scsi0: "ceph-vm:4",
      ide2: "ceph-vm:cloudinit",
      net0: "virtio,bridge=vmbr0",
      agent: 1,
    };
    expect(await run(lab, "POST /nodes/pve2/qemu", { form, as: "operator" })).toBe("OK");
    const taken = await call(lab, "POST /nodes/pve1/qemu", { form, as: "operator" });
    expect(taken.reason).toBe("unable to create VM 20450 - VM 20450 already exists on node 'pve2'");
    expect(await run(lab, "POST /nodes/pve2/qemu/20450/template", { as: "operator" })).toBe("OK");
    const again = await call(lab, "POST /nodes/pve2/qemu/20450/template", { as: "operator" });
    expect(again.reason).toBe("you can't convert a template to a template");
    expect((await call(lab, "GET /nodes/pve2/qemu/20450/config")).data.scsi0).toBe(
      "ceph-vm:base-20450-disk-0,size=4G",
    );
    expect(await run(lab, "POST /nodes/pve2/qemu/20450/status/start")).toBe(
      "you can't start a vm if it's a template",
    );
    const copy = { form: { newid: 20451 }, as: "operator" };
    expect(await run(lab, "POST /nodes/pve2/qemu/20450/clone", copy)).toBe("OK");
  });
});
