import { expect, test } from "vitest";
import { call, run } from "./api-client.ts";
import type { Lab } from "./lab.ts";
import { systemRuntime } from "./runtime.ts";
import { newLab } from "./test-lab.ts";

const row = async (lab: Lab, vmid: number) =>
  ((await call(lab, "GET /cluster/resources?type=vm")).data as Record<string, unknown>[]).find(
    (r) => r.vmid === vmid,
  );

test("cluster/resources shows tags at once, and name and power only at the next broadcast", async () => {
  const real = systemRuntime(0.001, 1);
  let broadcast = (): void => undefined;
  // Ten seconds at this scale: the broadcast, which this test triggers itself.
  const after = (milliseconds: number, callback: () => void): (() => void) => {
    if (milliseconds !== 10) return real.after(milliseconds, callback);
    broadcast = callback;
    return () => undefined;
  };
  const lab = await newLab({ runtime: { ...real, after } });
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20900, name: "late", full: 0 } });
  const unseen = await row(lab, 20900);
  expect(unseen).toMatchObject({ status: "unknown", tags: "template" });
  expect(unseen).not.toHaveProperty("name");
  broadcast();
  expect(await row(lab, 20900)).toMatchObject({ name: "late", status: "stopped" });
  const put = await call(lab, "PUT /nodes/pve1/qemu/20900/config", {
    form: { name: "renamed", tags: "fresh" },
  });
  expect(put.status).toBe(200);
  await run(lab, "POST /nodes/pve1/qemu/20900/status/start");
  expect(await row(lab, 20900)).toMatchObject({ name: "late", tags: "fresh", status: "stopped" });
  const live = (await call(lab, "GET /nodes/pve1/qemu/20900/status/current")).data;
  expect(live).toMatchObject({ status: "running", name: "renamed" });
  broadcast();
  expect(await row(lab, 20900)).toMatchObject({ name: "renamed", status: "running" });
});

test("nextid shows whether a number is free without reserving it", async () => {
  const lab = await newLab();
  expect((await call(lab, "GET /cluster/nextid")).data).toBe("100");
  expect((await call(lab, "GET /cluster/nextid")).data).toBe("100");
  const taken = await call(lab, "GET /cluster/nextid?vmid=9000");
  expect([taken.status, taken.errors]).toEqual([400, { vmid: "VM 9000 already exists" }]);
});

test("rows of a node that is down remain, with their status unknown, and its calls are 595", async () => {
  const lab = await newLab();
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20901, target: "pve2" } });
  lab.control.nodeDown("pve2");
  expect(await row(lab, 20901)).toMatchObject({ node: "pve2", status: "unknown" });
  const answer = await call(lab, "GET /nodes/pve2/qemu/20901/config");
  expect([answer.status, answer.reason]).toEqual([595, "No route to host"]);
  lab.control.nodeUp("pve2");
  expect((await call(lab, "GET /nodes/pve2/qemu/20901/config")).status).toBe(200);
});

test("a full domain name in place of a node name is 596, an unknown node 500", async () => {
  const lab = await newLab();
  const named = await call(lab, "GET /nodes/pve1.example/qemu");
  expect([named.status, named.reason]).toEqual([
    596,
    "tls_process_server_certificate: certificate verify failed",
  ]);
  expect((await call(lab, "GET /nodes/pve7/qemu")).reason).toContain("hostname lookup 'pve7' failed");
});
