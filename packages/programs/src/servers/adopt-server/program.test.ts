import type { PayloadOf } from "@kule/contract/schemas";
import { call } from "@kule/lab/api-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Failed } from "../../errors.ts";
import type { Job } from "../../program.ts";
import { runJob } from "../../registry.ts";
import { createJob, type LabRegion, quietHost, startLabRegion, stepsDone } from "../../testing/lab-region.ts";

let region: LabRegion;
let next = 22_000;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

function strange(config: Record<string, string> = {}): number {
  const vmid = next++;
  region.lab.control.stealVmid(vmid, "pve2");
  region.lab.control.editConfig(vmid, {
    net0: `virtio=BC:24:11:22:${String(vmid).slice(1, 3)}:${String(vmid).slice(3)},bridge=vmbr1,tag=120`,
    description: "made by hand",
    tags: "old;web",
    ...config,
  });
  return vmid;
}

const server = (vmid: number) => ({ id: `srv_${vmid}`, organisation_id: `org_${vmid}`, name: `web-${vmid}` });
function adoptJob(vmid: number): Job<PayloadOf<"ServerAdopt">> {
  return {
    id: `job_${vmid}`,
    payload: {
      kind: "ServerAdopt",
      server: server(vmid),
      vmid,
      tags: ["kule", `org_${vmid}`, `srv_${vmid}`],
    },
  };
}
const configOf = (vmid: number) => region.lab.control.vm(vmid)?.config;
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Failed ? error.facts.code : String(error)),
  );

it("marks a running VM, changes nothing else of it, and resumes after an interruption", async () => {
  const vmid = strange({ cores: "7" });
  region.lab.control.setPower(vmid, true);
  const pid = region.lab.control.vm(vmid)?.process?.pid;
  const host = quietHost();
  const observed = await runJob(adoptJob(vmid), region.world, host);
  expect(stepsDone(host.events)).toEqual(["mark"]);
  expect(observed).toMatchObject({ power_state: "on", node: "pve2", vmid });
  expect(observed.macs).toEqual([expect.stringMatching(/^BC:24:11:22:/)]);
  expect(configOf(vmid)).toMatchObject({
    name: `web-${vmid}`,
    cores: "7",
    description: expect.stringMatching(new RegExp(`^kule:v1 srv=srv_${vmid} .*\\nmade by hand$`)),
  });
  expect(configOf(vmid)?.tags?.split(";").sort()).toEqual(
    ["kule", "old", `org_${vmid}`, `srv_${vmid}`, "web"].sort(),
  );
  expect(region.lab.control.vm(vmid)?.process?.pid).toBe(pid);
  const again = quietHost();
  await runJob(adoptJob(vmid), region.world, again);
  expect(stepsDone(again.events)).toEqual([]);
});

it("never touches another server's VM, a template, or one that is not there", async () => {
  const theirs = next++;
  await runJob(createJob(theirs), region.world, quietHost());
  const before = JSON.stringify(configOf(theirs));
  const job = adoptJob(theirs);
  const other = { ...job, payload: { ...job.payload, server: server(99_999) } };
  expect(await codeOf(runJob(other, region.world, quietHost()))).toBe("vm_not_importable");
  expect(JSON.stringify(configOf(theirs))).toBe(before);
  expect(await codeOf(runJob(adoptJob(9000), region.world, quietHost()))).toBe("vm_not_importable");
  expect(await codeOf(runJob(adoptJob(next++), region.world, quietHost()))).toBe("vm_missing");
});

it("fails when the VM is marked between the observation and the call", async () => {
  const vmid = strange();
  const line = "kule:v1 srv=srv_other org=org_other region=lab1 job=job_other";
  region.lab.faults.add({
    method: "POST",
    path: `/qemu/${vmid}/config`,
    action: "world-before",
    do: "editConfig",
    args: [vmid, { description: line }],
  });
  expect(await codeOf(runJob(adoptJob(vmid), region.world, quietHost()))).toBe("vm_not_importable");
  expect(configOf(vmid)?.description).toBe(line);
});

it("does not touch a VM, and its disks, whose import never ended", async () => {
  const vmid = strange();
  region.lab.control.setPower(vmid, true);
  const volume = region.lab.control.leaveVolume("ceph-vm", vmid);
  for (const kind of ["ServerStop", "ServerDestroy"] as const) {
    const job = { id: `job_${kind}`, payload: { kind, server: server(vmid), vmid, taken_over: false } };
    await runJob(job as Job<PayloadOf<typeof kind>>, region.world, quietHost());
  }
  expect(region.lab.control.vm(vmid)?.process).not.toBeNull();
  expect(region.lab.control.volumes(vmid)).toContain(volume);
});

it("removes its marks from a VM whose import was cancelled, after any interruption, and nothing else", async () => {
  const vmid = strange();
  const before = JSON.stringify(configOf(vmid));
  await runJob(adoptJob(vmid), region.world, quietHost());
  const payload = { kind: "ServerDestroy", server: server(vmid), vmid, taken_over: false } as const;
  const job = { id: "job_off", payload } as unknown as Job<PayloadOf<"ServerDestroy">>;
  // The answer to the call is lost: a retry observes first.
  region.lab.faults.add({ method: "POST", path: `/qemu/${vmid}/config`, action: "drop-after" });
  await runJob(job, region.world, quietHost()).catch(() => {});
  const host = quietHost();
  await runJob(job, region.world, host);
  expect(stepsDone(host.events)).toEqual([]);
  const now = configOf(vmid) ?? {};
  expect(JSON.stringify({ ...now, name: JSON.parse(before).name, tags: "old;web" })).toBe(before);
  expect(now.tags?.split(";").sort()).toEqual(["old", "web"]);
  expect(now.description).toBe("made by hand");
});

it("restores an empty description and empty tags where there were none", async () => {
  const vmid = strange({ description: "", tags: "" });
  await runJob(adoptJob(vmid), region.world, quietHost());
  const payload = { kind: "ServerDestroy", server: server(vmid), vmid, taken_over: false } as const;
  const host = quietHost();
  await runJob({ id: "job_off", payload } as unknown as Job<PayloadOf<"ServerDestroy">>, region.world, host);
  expect(stepsDone(host.events)).toEqual(["unmark"]);
  expect(configOf(vmid)?.description ?? "").toBe("");
  expect(configOf(vmid)?.tags ?? "").toBe("");
});

it("does not remove the marks of another owner", async () => {
  const vmid = strange();
  const line = "kule:v1 srv=srv_other org=org_other region=lab1 job=job_other";
  region.lab.control.editConfig(vmid, { description: line, tags: `kule;org_${vmid}` });
  const before = JSON.stringify(configOf(vmid));
  const payload = { kind: "ServerDestroy", server: server(vmid), vmid, taken_over: false } as const;
  await runJob(
    { id: "job_off", payload } as unknown as Job<PayloadOf<"ServerDestroy">>,
    region.world,
    quietHost(),
  );
  expect(JSON.stringify(configOf(vmid))).toBe(before);
});

it("joins its organisation's pool, leaves another for it, and leaves it again when it was cancelled", async () => {
  const vmid = strange();
  const { lab, client } = region;
  const pool = `kule-org_${vmid}`;
  await call(lab, "POST /pools", { form: { poolid: `theirs-${vmid}` }, as: "operator" });
  await call(lab, "PUT /pools", { form: { poolid: `theirs-${vmid}`, vms: vmid }, as: "operator" });
  const plain = adoptJob(vmid);
  const job = { ...plain, payload: { ...plain.payload, pool } };
  const host = quietHost();
  await runJob(job, region.world, host);
  expect(stepsDone(host.events)).toEqual(["mark", "join-pool"]);
  expect(lab.control.poolOf(vmid)).toBe(pool);
  expect((await client.call("GET /pools", {})).map(({ poolid }) => poolid)).toContain(pool);
  const payload = { kind: "ServerDestroy", server: server(vmid), vmid, taken_over: false } as const;
  const off = { id: "job_off", payload } as unknown as Job<PayloadOf<"ServerDestroy">>;
  // It is killed after the VM has left the pool: the marks still show that something is left to do.
  const killed = {
    crashPoint: async (point: string) => {
      if (point === "ServerDestroy.leave-pool.effect-done") throw new Error("killed");
    },
  };
  await expect(runJob(off, region.world, quietHost(killed))).rejects.toThrow("killed");
  expect([lab.control.poolOf(vmid), configOf(vmid)?.description?.includes("kule:v1")]).toEqual([null, true]);
  const again = quietHost();
  await runJob(off, region.world, again);
  expect(stepsDone(again.events)).toEqual(["unmark"]);
});
