import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { call, run } from "../api-client.ts";
import { effects } from "../effects.ts";
import type { Lab } from "../lab.ts";
import { systemRuntime } from "../runtime.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await newLab({ controlPort: 0 });
});
beforeEach(() => lab.faults.clear());
const clone = async (newid: number) =>
  await call(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid } });

describe("faults between client and API", () => {
  test("a reply can be lost after the effect is done", async () => {
    lab.faults.add({ method: "POST", path: "/clone$", action: "drop-after" });
    await expect(clone(21100)).rejects.toThrow();
    await lab.control.settled();
    expect(effects(lab.journal()).finishedClones.get(21100)).toBe(1);
  });

  test("a request can be lost before", async () => {
    lab.faults.add({ method: "POST", path: "/clone$", action: "drop-before" });
    await expect(clone(21101)).rejects.toThrow();
    expect((await clone(21101)).status).toBe(200);
    await lab.control.settled();
    expect(effects(lab.journal()).clones.get(21101)).toBe(1);
  });

  test("595 before and 596 after the effect cannot be distinguished by the client", async () => {
    lab.faults.add({ path: "/clone$", action: "status-before", status: 595, reason: "Connection refused" });
    expect((await clone(21102)).status).toBe(595);
    lab.faults.add({ path: "/clone$", action: "status-after", status: 596, reason: "Connection timed out" });
    expect((await clone(21102)).reason).toBe("Connection timed out");
    await lab.control.settled();
    expect(effects(lab.journal()).clones.get(21102)).toBe(1);
  });

  test("a fault hits from the nth match on, as often as it says", async () => {
    lab.faults.add({
      path: "^/version$",
      action: "status-before",
      status: 500,
      reason: "no",
      nth: 2,
      count: 2,
    });
    const statuses = [];
    for (let index = 0; index < 4; index++) statuses.push((await call(lab, "GET /version")).status);
    expect(statuses).toEqual([200, 500, 500, 200]);
  });

  test("401 for a period and 403 on one path", async () => {
    const id = lab.faults.add({
      action: "status-before",
      status: 401,
      reason: "Authentication failed!",
      count: 0,
    });
    const refused = await call(lab, "GET /version");
    expect([refused.status, refused.text]).toEqual([401, ""]);
    lab.faults.remove(id);
    const reason = "Permission check failed (/vms/9000, VM.Clone)";
    lab.faults.add({ path: "/clone$", action: "status-before", status: 403, reason });
    expect((await clone(21103)).message).toBe(`${reason}\n`);
  });

  test("answers can be slow, dripped, garbage, or shorter than they say", async () => {
    lab.faults.add({ path: "^/version$", action: "delay", milliseconds: 30 });
    const began = performance.now();
    expect((await call(lab, "GET /version")).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(28);
    lab.faults.add({ path: "^/version$", action: "drip", milliseconds: 1 });
    expect((await call(lab, "GET /version")).data.release).toBe("9.2");
    lab.faults.add({ path: "^/version$", action: "garbage" });
    expect(() => JSON.parse("{")).toThrow();
    expect((await call(lab, "GET /version")).data).toBeUndefined();
    lab.faults.add({ path: "^/version$", action: "wrong-length" });
    await expect(call(lab, "GET /version")).rejects.toThrow();
  });

  test("a synchronous call that takes too long is 596 while it continues", async () => {
    const real = systemRuntime(0, 1);
    let gate = Promise.resolve();
    let open = (): void => undefined;
    const runtime = {
      ...real,
      after: (milliseconds: number, callback: () => void) => real.after(milliseconds / 30, callback),
      wait: async () => {
        await real.wait(0);
        await gate;
      },
    };
    const slow = await newLab({ runtime });
    await run(slow, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 21104 } });
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const put = await call(slow, "PUT /nodes/pve1/qemu/21104/config", { form: { cores: 6 } });
    expect([put.status, put.reason]).toEqual([596, "Connection timed out"]);
    expect(slow.control.vm(21104)?.config.cores).toBe("1");
    open();
    for (;;) if ((await call(slow, "GET /nodes/pve1/qemu/21104/config")).data.cores === 6) break;
  });

  test("a fourth slow call waits for one of the node's three workers", async () => {
    const real = systemRuntime(0, 1);
    // Locks that wait long enough for this test on the slowest machine.
    const slowFaults = {
      ...real,
      after: (ms: number, callback: () => void) => real.after(ms * 100, callback),
    };
    const own = await newLab({ runtime: slowFaults });
    for (const newid of [21106, 21107, 21108]) {
      await run(own, "POST /nodes/pve1/qemu/9000/clone", { form: { newid } });
    }
    const release = own.control.holdStorageLock("ceph-vm");
    const order: string[] = [];
    const slow = [21106, 21107, 21108].map(async (vmid) => {
      const form = { scsi1: "ceph-vm:1" };
      const answer = await call(own, `PUT /nodes/pve1/qemu/${vmid}/config`, { form });
      order.push("slow");
      return answer.status;
    });
    while (own.control.busyWorkers("pve1") < 3) await call(own, "GET /version");
    const fourth = call(own, "GET /nodes/pve1/qemu/21106/status/current").then(() => order.push("fourth"));
    // The other node has workers of its own, and GET config is answered by the proxy itself.
    expect((await call(own, "GET /nodes/pve2/qemu")).status).toBe(200);
    expect((await call(own, "GET /nodes/pve1/qemu/21106/config")).status).toBe(200);
    expect(order).toEqual([]);
    release();
    expect(await Promise.all(slow)).toEqual([200, 200, 200]);
    await fourth;
    expect(order[0]).toBe("slow");
  });
});

describe("changes that the driver does not make", () => {
  test("a number can be taken by another VM just before the clone", async () => {
    lab.faults.add({ path: "/clone$", action: "world-before", do: "stealVmid", args: [21110] });
    expect((await clone(21110)).reason).toBe("unable to create VM 21110: config file already exists");
    expect(lab.control.vm(21110)?.config.name).toBe("stranger-21110");
  });

  test("a VM can move, change and vanish", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 21111 } });
    lab.control.migrateVm(21111, "pve2");
    expect((await call(lab, "GET /nodes/pve1/qemu/21111/config")).status).toBe(500);
    lab.control.editConfig(21111, { tags: "edited" }, ["onboot"]);
    expect((await call(lab, "GET /nodes/pve2/qemu/21111/config")).data.tags).toBe("edited");
    lab.control.deleteVm(21111);
    expect((await call(lab, "GET /nodes/pve2/qemu/21111/config")).status).toBe(500);
    expect(lab.control.volumes(21111)).toEqual([]);
  });

  test("without a quorum nothing is written", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 21112 } });
    lab.control.loseQuorum();
    const put = await call(lab, "PUT /nodes/pve1/qemu/21112/config", { form: { cores: 2 } });
    expect(put.reason).toBe("cluster not ready - no quorum?");
    expect(await run(lab, "POST /nodes/pve1/qemu/21112/status/start")).toBe("cluster not ready - no quorum?");
    expect((await call(lab, "GET /nodes/pve1/qemu/21112/config")).status).toBe(200);
    lab.control.regainQuorum();
  });
});

describe("the control server", () => {
  const control = async (method: string, path: string, body?: unknown) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const answer = await fetch(`${lab.controlUrl}${path}`, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  test("installs and removes faults, returns journal and VMs, and changes the cluster", async () => {
    const { body } = await control("POST", "/faults", {
      path: "^/version$",
      action: "status-before",
      status: 500,
      count: 0,
    });
    expect((await call(lab, "GET /version")).status).toBe(500);
    await control("DELETE", `/faults?id=${String(body.id)}`);
    expect((await call(lab, "GET /version")).status).toBe(200);
    await control("POST", "/task-faults", { type: "qmstop", action: "warnings" });
    await control("POST", "/world", { do: "stealVmid", args: [21120, "pve1"] });
    expect(await run(lab, "POST /nodes/pve1/qemu/21120/status/stop")).toBe("WARNINGS: 1");
    const journal = (await control("GET", "/journal?after=0")).body as unknown as { op: string }[];
    expect(journal.map(({ op }) => op)).toContain("world-vmid-stolen");
    const vms = (await control("GET", "/vms")).body as unknown as { vmid: number }[];
    expect(vms.map(({ vmid }) => vmid)).toContain(21120);
    expect((await control("POST", "/world", { do: "format" })).status).toBe(400);
  });

  test("is no part of the API's port", async () => {
    expect((await call(lab, "GET /journal")).status).toBe(501);
  });
});
