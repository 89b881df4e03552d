import { beforeAll, describe, expect, test } from "vitest";
import { call, finished, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await newLab();
});

describe("tokens", () => {
  test("a wrong secret, an unknown token and no token at all are 401 without JSON", async () => {
    const wrong = await call(lab, "GET /version", { as: `PVEAPIToken=${lab.tokenId}=wrong` });
    const unknown = await call(lab, "GET /version", { as: "PVEAPIToken=no@pve!one=wrong" });
    expect([wrong.status, wrong.reason, wrong.text]).toEqual([401, "Authentication failed!", ""]);
    expect([unknown.status, unknown.reason]).toEqual([401, "Authentication failed!"]);
    expect((await call(lab, "GET /version", { as: "" })).status).toBe(401);
  });

  test("a 401 is delayed for three scaled seconds", async () => {
    const slow = await newLab({ timeScale: 0.05 });
    const began = performance.now();
    expect((await call(slow, "GET /version", { as: `PVEAPIToken=${slow.tokenId}=wrong` })).status).toBe(401);
    expect(performance.now() - began).toBeGreaterThan(140);
  });

  test("the token may follow a space, and a ticket cookie wins over it", async () => {
    const secret = `${lab.tokenId}=${lab.tokenSecret}`;
    expect((await call(lab, "GET /version", { as: `PVEAPIToken ${secret}` })).status).toBe(200);
    const headers = { cookie: "PVEAuthCookie=PVE:cloud@pve:0000" };
    expect((await call(lab, "GET /version", { headers })).status).toBe(401);
  });

  test("a token of root@pam is not root@pam", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20200 } });
    const put = async (form: Record<string, string>) =>
      await call(lab, "PUT /nodes/pve1/qemu/20200/config", { form, as: "operator" });
    expect((await put({ cores: "2" })).status).toBe(200);
    expect((await put({ args: "-S" })).reason).toBe("only root can set 'args' config");
    expect((await put({ lock: "backup" })).reason).toBe("only root can set 'lock' config");
    const forced = await call(lab, "DELETE /nodes/pve1/qemu/20200?skiplock=1", { as: "operator" });
    expect(forced.errors).toEqual({ skiplock: "Only root may use this option." });
  });
});

describe("the agent's token has what a driver needs and no more", () => {
  const refused = async (line: string, form?: Record<string, string>) => {
    const answer = await call(lab, line, form === undefined ? {} : { form });
    return [answer.status, answer.message?.trimEnd()];
  };

  test("a VLAN on a bridge that it was not granted is refused by name", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20201 } });
    const line = "PUT /nodes/pve1/qemu/20201/config";
    expect(await refused(line, { net0: "virtio,bridge=vmbr7,tag=12" })).toEqual([
      403,
      "Permission check failed (/sdn/zones/localnetwork/vmbr7/12, SDN.Use)",
    ]);
    expect(await refused(line, { net0: "virtio,bridge=vmbr7" })).toEqual([
      403,
      "Permission check failed (/sdn/zones/localnetwork/vmbr7, SDN.Use)",
    ]);
  });

  test("startup needs Sys.Modify on /, other storages and firewall groups are out of reach", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20202 } });
    expect(await refused("PUT /nodes/pve1/qemu/20202/config", { startup: "order=1" })).toEqual([
      403,
      "Permission check failed (/, Sys.Modify)",
    ]);
    expect(await refused("PUT /nodes/pve1/qemu/20202/config", { scsi1: "local:8" })).toEqual([
      403,
      "Permission check failed (/storage/local, Datastore.AllocateSpace)",
    ]);
    expect(await refused("PUT /cluster/firewall/options", { enable: "0" })).toEqual([
      403,
      "Permission check failed (/, Sys.Modify)",
    ]);
    expect(await refused("DELETE /nodes/pve1/storage/ceph-vm/content/vm-20202-disk-0")).toEqual([
      403,
      "Permission check failed (/storage/ceph-vm, Datastore.Allocate)",
    ]);
  });

  test("adding an existing VM to a pool needs Permissions.Modify or VM.Allocate on it", async () => {
    await call(lab, "POST /pools", { form: { poolid: "kule-later" } });
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20203 } });
    expect(await refused("PUT /pools?poolid=kule-later&vms=9000")).toEqual([
      403,
      "Permission check failed (/vms/9000, Permissions.Modify|VM.Allocate)",
    ]);
    expect((await refused("PUT /pools?poolid=kule-later&vms=20203"))[0]).toBe(200);
  });

  test("permission is checked before parameters", async () => {
    const answer = await call(lab, "PUT /cluster/firewall/options", { form: { nonsense: 1 } });
    expect(answer.status).toBe(403);
  });

  test("an unknown pool is a permission failure", async () => {
    const form = { newid: "20204", pool: "absent" };
    expect((await refused("POST /nodes/pve1/qemu/9000/clone", form))[1]).toBe(
      "Permission check failed (pool 'absent' does not exist)",
    );
  });

  test("the storage list hides what it may not see, the network list leaves bridges out", async () => {
    const storages = (await call(lab, "GET /nodes/pve1/storage")).data as { storage: string }[];
    expect(storages.map(({ storage }) => storage)).toEqual(["ceph-vm"]);
    const bridges = (await call(lab, "GET /nodes/pve1/network?type=bridge")).data as { iface: string }[];
    expect(bridges.map(({ iface }) => iface)).toEqual(["vmbr0", "vmbr1"]);
  });

  test("on 8 the guest agent is VM.Monitor's, on 9 VM.GuestAgent's", async () => {
    const old = await newLab({ version: "8.4" });
    const has = async (where: Lab) =>
      Object.keys((await call(where, "GET /access/permissions")).data["/vms"]);
    expect(await has(old)).toContain("VM.Monitor");
    expect(await has(lab)).not.toContain("VM.Monitor");
    await run(old, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20205 } });
    await run(old, "POST /nodes/pve1/qemu/20205/status/start");
    expect((await call(old, "POST /nodes/pve1/qemu/20205/agent/ping")).status).toBe(200);
  });
});

describe("a token with a pool only", () => {
  test("does not see its clone until the clone is finished", async () => {
    const own = await newLab();
    own.control.restrictAgentToPool("kule-org1");
    own.faults.tasks.add({ type: "qmclone", action: "held", stage: "pool" });
    const started = await call(own, "POST /nodes/pve1/qemu/9000/clone", {
      form: { newid: 20210, pool: "kule-org1", full: 1 },
    });
    await own.faults.tasks.whenHeld();
    const during = await call(own, "GET /nodes/pve1/qemu/20210/config");
    expect([during.status, during.message]).toEqual([
      403,
      "Permission check failed (/vms/20210, VM.Audit)\n",
    ]);
    own.faults.tasks.release();
    expect(await finished(own, started.data)).toBe("OK");
    expect((await call(own, "GET /nodes/pve1/qemu/20210/config")).status).toBe(200);
  });
});
