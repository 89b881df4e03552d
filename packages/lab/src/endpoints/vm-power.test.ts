import { beforeAll, describe, expect, test } from "vitest";
import { call, finished, run } from "../api-client.ts";
import { effects } from "../effects.ts";
import type { Lab } from "../lab.ts";
import { systemRuntime } from "../runtime.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
const VM = "/nodes/pve1/qemu/20600";
beforeAll(async () => {
  lab = await newLab();
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20600, name: "power" } });
});
const current = async (where: Lab, vm = VM) => (await call(where, `GET ${vm}/status/current`)).data;

describe("start", () => {
  test("of a running VM answers with a task, and the task fails", async () => {
    expect(await run(lab, `POST ${VM}/status/start`)).toBe("OK");
    expect(await current(lab)).toMatchObject({ status: "running", qmpstatus: "running", name: "power" });
    expect(await run(lab, `POST ${VM}/status/start`)).toBe("VM 20600 already running");
    expect(effects(lab.journal()).starts.get(20600)).toBe(1);
  });

  test("of a VM that does not exist answers with a task that names where it looked", async () => {
    expect(await run(lab, "POST /nodes/pve1/qemu/29999/status/start")).toBe(
      "Configuration file 'nodes/pve1/qemu-server/29999.conf' does not exist",
    );
    expect(await run(lab, "POST /nodes/pve2/qemu/20600/status/start")).toBe(
      "Configuration file 'nodes/pve2/qemu-server/20600.conf' does not exist",
    );
  });

  test("fails on a bridge that the node does not have", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20601 } });
    lab.control.editConfig(20601, { net0: "virtio=BC:24:11:00:00:09,bridge=vmbr9" });
    expect(await run(lab, "POST /nodes/pve1/qemu/20601/status/start")).toBe("bridge 'vmbr9' does not exist");
    expect(await current(lab, "/nodes/pve1/qemu/20601")).toMatchObject({ status: "stopped" });
  });
});

describe("stop", () => {
  test("is a hard off, and fine when the VM is off already", async () => {
    expect(await run(lab, `POST ${VM}/status/stop`)).toBe("OK");
    expect(await current(lab)).toMatchObject({ status: "stopped", qmpstatus: "stopped", uptime: 0 });
    expect(await run(lab, `POST ${VM}/status/stop`)).toBe("OK");
    expect(effects(lab.journal()).stops.get(20600)).toBe(1);
  });

  test("waits for a shutdown that hangs, unless it overrules it", async () => {
    const own = await newLab();
    await run(own, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20600, full: 0 } });
    await run(own, `POST ${VM}/status/start`);
    own.faults.tasks.add({ type: "qmshutdown", action: "held", stage: "powerdown" });
    const hanging = await call(own, `POST ${VM}/status/shutdown`, { form: { timeout: 300 } });
    await own.faults.tasks.whenHeld();
    const waiting = await run(own, `POST ${VM}/status/stop`);
    expect(waiting).toBe("can't lock file '/var/lock/qemu-server/lock-20600.conf' - got timeout");
    expect(await run(own, `POST ${VM}/status/stop`, { form: { "overrule-shutdown": 1 } })).toBe("OK");
    expect(await finished(own, hanging.data)).toBe("unexpected status");
    expect(await current(own)).toMatchObject({ status: "stopped" });
  });
});

describe("shutdown", () => {
  test("of a deaf guest times out, and with forceStop kills it", async () => {
    await run(lab, `POST ${VM}/status/start`);
    lab.faults.tasks.unresponsiveGuests.add(20600);
    expect(await run(lab, `POST ${VM}/status/shutdown`, { form: { timeout: 5 } })).toBe(
      "VM quit/powerdown failed - got timeout",
    );
    expect(await current(lab)).toMatchObject({ status: "running" });
    expect(await run(lab, `POST ${VM}/status/shutdown`, { form: { timeout: 5, forceStop: 1 } })).toBe("OK");
    expect(await current(lab)).toMatchObject({ status: "stopped" });
    lab.faults.tasks.unresponsiveGuests.delete(20600);
  });

  test("of a paused VM is refused", async () => {
    await run(lab, `POST ${VM}/status/start`);
    expect(await run(lab, `POST ${VM}/status/suspend`)).toBe("OK");
    expect(await current(lab)).toMatchObject({ status: "running", qmpstatus: "paused" });
    expect((await call(lab, `POST ${VM}/status/shutdown`)).reason).toBe("VM is paused - cannot shutdown");
    expect(await run(lab, `POST ${VM}/status/resume`)).toBe("OK");
  });
});

describe("reboot and reset", () => {
  test("a reboot task is over before the VM is back, with a new process and pending changes applied", async () => {
    const own = await newLab();
    await run(own, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20600, full: 0 } });
    await run(own, `POST ${VM}/status/start`);
    const { pid } = await current(own);
    await call(own, `PUT ${VM}/config`, { form: { cores: 3 } });
    own.faults.tasks.add({ type: "qmstart", action: "held", stage: "start" });
    expect(await run(own, `POST ${VM}/status/reboot`)).toBe("OK");
    await own.faults.tasks.whenHeld();
    expect(await current(own)).toMatchObject({ status: "stopped" });
    own.faults.tasks.release();
    await own.control.settled();
    const now = await current(own);
    expect(now.status).toBe("running");
    expect(now.pid).not.toBe(pid);
    expect((await call(own, `GET ${VM}/config?current=1`)).data.cores).toBe(3);
  });

  test("a reset keeps the process and pending changes", async () => {
    const { pid } = await current(lab);
    await call(lab, `PUT ${VM}/config`, { form: { cores: 7 } });
    expect(await run(lab, `POST ${VM}/status/reset`)).toBe("OK");
    expect((await current(lab)).pid).toBe(pid);
    expect((await call(lab, `GET ${VM}/config?current=1`)).data.cores).toBe(1);
  });

  test("of a VM that is off are refused at once", async () => {
    await run(lab, `POST ${VM}/status/stop`);
    for (const verb of ["reboot", "reset", "suspend"]) {
      const answer = await call(lab, `POST ${VM}/status/${verb}`);
      expect([answer.status, answer.reason]).toEqual([500, "VM 20600 not running"]);
    }
  });
});

describe("the guest agent", () => {
  test("is absent while the VM is off, while it boots, and when it is not configured", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const runtime = { ...systemRuntime(0.001, 1), nowMs: () => now };
    const own = await newLab({ runtime });
    await run(own, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20600, full: 0 } });
    const ping = async () => await call(own, `POST ${VM}/agent/ping`);
    expect((await ping()).reason).toBe("VM 20600 is not running");
    await run(own, `POST ${VM}/status/start`);
    expect((await ping()).reason).toBe("QEMU guest agent is not running");
    now += 60_000;
    expect((await ping()).status).toBe(200);
    own.faults.tasks.agentless.add(20600);
    expect((await ping()).reason).toBe("QEMU guest agent is not running");
    await run(own, `POST ${VM}/status/stop`);
    await call(own, `PUT ${VM}/config`, { form: { agent: 0 } });
    expect((await ping()).reason).toBe("No QEMU guest agent configured");
  });

  test("reports addresses, runs commands and sets passwords", async () => {
    await call(lab, `PUT ${VM}/config`, {
      form: { ipconfig0: "ip=10.1.0.5/24,gw=10.1.0.1", net1: "virtio,bridge=vmbr0" },
    });
    await run(lab, `POST ${VM}/status/start`);
    const interfaces = (await call(lab, `GET ${VM}/agent/network-get-interfaces`)).data.result;
    expect(interfaces[1]["ip-addresses"][0]).toEqual({
      "ip-address": "10.1.0.5",
      "ip-address-type": "ipv4",
      prefix: 24,
    });
    // An interface that nothing configured has no addresses at all, not an empty list.
    expect(interfaces[2]).not.toHaveProperty("ip-addresses");
    const { pid } = (await call(lab, `POST ${VM}/agent/exec`, { json: { command: ["/bin/echo", "a", "b"] } }))
      .data;
    expect((await call(lab, `GET ${VM}/agent/exec-status?pid=${pid}`)).data).toEqual({
      exited: 1,
      exitcode: 0,
      "out-data": "a b\n",
    });
    const form = { username: "ubuntu", password: "new-secret" };
    expect((await call(lab, `POST ${VM}/agent/set-user-password`, { form })).status).toBe(200);
    expect(lab.control.vm(20600)?.guest.passwords).toHaveProperty("ubuntu");
    const short = await call(lab, `POST ${VM}/agent/set-user-password`, {
      form: { ...form, password: "abc" },
    });
    expect(short.status).toBe(400);
  });
});
