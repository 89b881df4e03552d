import { beforeAll, describe, expect, test } from "vitest";
import { call, finished, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";
import { parseUpid } from "./upid.ts";

let lab: Lab;
const VM = "/nodes/pve1/qemu/20800";
beforeAll(async () => {
  lab = await newLab();
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20800 } });
});
const path = (upid: string, part: string, node = "pve1"): string =>
  `GET /nodes/${node}/tasks/${encodeURIComponent(upid)}/${part}`;
const start = async (form = {}) => (await call(lab, `POST ${VM}/status/stop`, { form })).data as string;

describe("a task", () => {
  test("has a UPID that names node, type, id and the token", async () => {
    const upid = await start();
    expect(upid).toMatch(/^UPID:pve1:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:qmstop:20800:cloud@pve!agent:$/);
    expect(parseUpid(upid)).toMatchObject({
      node: "pve1",
      type: "qmstop",
      id: "20800",
      user: "cloud@pve!agent",
    });
    await finished(lab, upid);
    const status = (await call(lab, path(upid, "status"))).data;
    expect(status).toMatchObject({
      upid,
      status: "stopped",
      exitstatus: "OK",
      user: "cloud@pve",
      tokenid: "agent",
    });
  });

  test("of a clone carries the id of the source, and its log names the new one", async () => {
    const answer = await call(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20801, full: 1 } });
    await finished(lab, answer.data);
    expect(parseUpid(answer.data)?.id).toBe("9000");
    const log = await call(lab, path(answer.data, "log?limit=2"));
    expect(log.data[0]).toEqual({ n: 1, t: "creating a clone of VM 9000 with ID 20801" });
    expect(log.data).toHaveLength(2);
    expect(JSON.parse(log.text).total).toBeGreaterThan(3);
    const listed = (await call(lab, "GET /nodes/pve1/tasks?typefilter=qmclone&vmid=9000")).data;
    expect(listed[0]).toMatchObject({ upid: answer.data, status: "OK", id: "9000" });
  });

  test("is known on its own node only, and a UPID that is none is refused", async () => {
    const upid = await start();
    await finished(lab, upid);
    expect((await call(lab, path(upid, "status", "pve2"))).errors).toEqual({ upid: "no such task" });
    expect((await call(lab, path("UPID:nonsense", "status"))).status).toBe(400);
  });

  test("that runs is listed as active and has no exit status", async () => {
    lab.faults.tasks.add({ type: "qmstop", action: "never-ends" });
    const upid = await start();
    const status = (await call(lab, path(upid, "status"))).data;
    expect(status.status).toBe("running");
    expect(status).not.toHaveProperty("exitstatus");
    const active = (await call(lab, "GET /nodes/pve1/tasks?source=active")).data;
    expect(active).toMatchObject([{ upid, status: "RUNNING" }]);
    expect((await call(lab, `DELETE /nodes/pve1/tasks/${encodeURIComponent(upid)}`)).status).toBe(200);
    expect(await finished(lab, upid)).toBe("unexpected status");
  });

  test("of another user is shown only to those who may audit the node", async () => {
    const answer = await call(lab, `POST ${VM}/status/stop`, { as: "operator" });
    expect((await call(lab, path(answer.data, "status"))).status).toBe(200);
    expect((await call(lab, `DELETE /nodes/pve1/tasks/${encodeURIComponent(answer.data)}`)).message).toBe(
      "Permission check failed (/nodes/pve1, Sys.Modify)\n",
    );
  });
});

describe("tasks that go wrong on demand", () => {
  test("are held at their first stage, and once", async () => {
    lab.faults.tasks.add({ type: "qmclone", action: "held" });
    const answer = await call(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 9_400, full: 1 } });
    expect(answer.status).toBe(200);
    await lab.faults.tasks.whenHeld();
    lab.faults.tasks.release();
    expect(await finished(lab, answer.data)).toBe("OK");
  });

  test("end with warnings, with a text, or with their log lost", async () => {
    lab.faults.tasks.add({ type: "qmstop", action: "warnings" });
    expect(await finished(lab, await start())).toBe("WARNINGS: 1");
    lab.faults.tasks.add({ type: "qmstop", action: "error", text: "unable to fork worker - out of memory" });
    expect(await finished(lab, await start())).toBe("unable to fork worker - out of memory");
    lab.faults.tasks.add({ type: "qmstop", action: "log-missing" });
    const upid = await start();
    await lab.control.settled();
    expect((await call(lab, path(upid, "status"))).errors).toEqual({ upid: "no such task" });
  });

  test("end with OK while nothing happened", async () => {
    lab.faults.tasks.add({ type: "qmstart", action: "ok-without-effect" });
    expect(await run(lab, `POST ${VM}/status/start`)).toBe("OK");
    expect((await call(lab, `GET ${VM}/status/current`)).data.status).toBe("stopped");
  });
});
