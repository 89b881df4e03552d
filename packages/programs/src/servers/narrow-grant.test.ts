// Every kind of job on a server, with a token that has what the agent's runbook grants and no more: servers
// by their pools, templates to read and to clone.

import type { JobKind } from "@kule/contract/schemas";
import { call } from "@kule/lab/api-client";
import { agentRoles } from "@kule/proxmox/driver-calls/grants";
import { systemRuntime } from "@kule/proxmox/runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Failed } from "../errors.ts";
import { GuestInspector } from "../inventory/guest-inspector.ts";
import { type ScanPart, scanRegion } from "../inventory/scan-region.ts";
import type { Job } from "../program.ts";
import { runJob } from "../registry.ts";
import { createJob, type LabRegion, quietHost, startLabRegion, stepsDone } from "../testing/lab-region.ts";

let region: LabRegion;
beforeEach(async () => {
  region = await startLabRegion({}, { agentGrant: "pools" });
});
afterEach(() => region.stop());

const VMID = 23_000;
const server = (vmid: number) => ({ id: `srv_${vmid}`, organisation_id: `org_${vmid}`, name: `web-${vmid}` });
let nextJob = 1;
const job = (kind: JobKind, more: object = {}, vmid = VMID): Job =>
  ({ id: `job_${nextJob++}`, payload: { kind, server: server(vmid), vmid, ...more } }) as unknown as Job;

async function run(made: Job): Promise<string[]> {
  const host = quietHost();
  await runJob(made, region.world, host);
  return stepsDone(host.events);
}

const failureOf = (made: Job) =>
  run(made).then(
    () => "done",
    (error: unknown) =>
      error instanceof Failed ? `${error.facts.code}: ${error.facts.internal ?? ""}` : String(error),
  );

const outside = {
  mac: "0a:01:00:00:4f:01",
  vlan: null,
  addresses: [{ version: 4, address: "203.0.113.10", prefix_length: 24, gateway: "203.0.113.1" }],
};
const filter = {
  id: "fw_1",
  is_filtered: true,
  rules: [
    {
      id: "fwr_1",
      direction: "in",
      action: "allow",
      protocol: "tcp",
      ports: ["22"],
      side: null,
      addresses: null,
    },
    {
      id: "fwr_2",
      direction: "in",
      action: "allow",
      protocol: "tcp",
      ports: ["443"],
      side: "source",
      addresses: ["198.51.100.0/24", "192.0.2.1"],
    },
  ],
};
const power = (action: string) => job("ServerPower", { action, timeout_seconds: 60, force_after: false });

/** A server's life, by the kinds of its jobs; each does something. */
async function live(): Promise<void> {
  const made = createJob(VMID);
  const { interfaces } = made.payload;
  const guest = { interfaces, guest_network: "netplan" };
  const password = { os_family: "linux", username: "ubuntu", sealed_password: null, password_hash: "$6$a$b" };
  const jobs: Job[] = [
    made as unknown as Job,
    power("shutdown"),
    power("start"),
    power("reset"),
    power("reboot"),
    job("ServerPasswordReset", { ...password, when: "now" }),
    job("ServerPasswordReset", { ...password, password_hash: "$6$a$c", when: "next_start" }),
    job("PublicIpAttach", { ...guest, public_interface: outside }),
    job("FirewallApply", { interfaces, public_interface: outside, filter }),
    job("PublicIpDetach", { ...guest, public_interface: null }),
    power("stop"),
    job("ServerResize", { package: { vcpu: 4, memory_mb: 8192, disk_gb: 100 }, run: true }),
    { id: `job_${nextJob++}`, payload: { ...made.payload, kind: "ServerRebuild" } } as unknown as Job,
    job("ServerStop"),
    job("ServerRestore", { start: true }),
    job("ServerStop"),
    job("ServerDestroy"),
  ];
  for (const each of jobs) expect(await run(each), each.payload.kind).not.toEqual([]);
}

describe("With a role on the pools only", { timeout: 60_000 }, () => {
  it("a server is created, run, changed, filtered, rebuilt and removed", async () => {
    await live();
    expect(region.lab.control.vm(VMID)).toBeUndefined();
    expect(region.calls.filter(({ status }) => status === 403)).toEqual([]);
  });

  // Missing read privileges show in other ways, no console is opened here, and cloud-init's keys are also
  // allowed by VM.Config.Network.
  const refusing = agentRoles(9).CloudAgent.filter((each) => !/Audit$|Console$|Cloudinit$/.test(each));
  it.each(refusing)("it cannot without %s, so the role has no unused privilege", async (privilege) => {
    const privs = agentRoles(9).CloudAgent.filter((each) => each !== privilege);
    region.lab.control.pveum("role", "modify", "CloudAgent", "--privs", privs.join(" "));
    // A template without its serial port, which the driver then gives the clone.
    region.lab.control.editConfig(9000, {}, ["serial0"]);
    const failed = await live().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    const said = [
      failed instanceof Failed ? failed.facts.internal : String(failed),
      ...region.calls.filter(({ status }) => status === 403).map(({ error }) => error),
    ];
    expect(said.join("\n")).toContain("Permission check failed");
  });

  it("neither a template nor a guest outside the pools can be destroyed, stopped or changed", async () => {
    region.lab.control.stealVmid(23_100);
    for (const vmid of [9000, 23_100])
      for (const [line, form] of [
        [`DELETE /nodes/pve1/qemu/${vmid}`],
        [`POST /nodes/pve1/qemu/${vmid}/status/stop`],
        [`POST /nodes/pve1/qemu/${vmid}/config`, { cores: "3" }],
      ] as const)
        expect((await call(region.lab, line, form === undefined ? {} : { form })).status, line).toBe(403);
    expect(region.lab.control.vm(9000)).toBeDefined();
  });

  it("a running clone is known by its task, because it cannot be seen", async () => {
    region.lab.faults.tasks.add({ type: "qmclone", action: "held", stage: "pool" });
    const made = run(createJob(VMID) as unknown as Job);
    await region.lab.faults.tasks.whenHeld();
    expect((await call(region.lab, `GET /nodes/pve1/qemu/${VMID}/config`)).status).toBe(403);
    const owner = { serverId: `srv_${VMID}`, region: region.world.settings.region };
    const { hypervisor } = region.world;
    expect(await hypervisor.findVm(VMID, owner, 9000)).toMatchObject({
      state: "busy",
      task: { type: "qmclone" },
    });
    region.lab.faults.tasks.release();
    await made;
    expect(await hypervisor.findVm(VMID, owner, 9000)).toMatchObject({ state: "present" });
  });

  it("an interrupted clone stays out of reach until an operator has removed it", async () => {
    region.lab.faults.tasks.add({ type: "qmclone", action: "killed", stage: "unlock" });
    const made = createJob(VMID) as unknown as Job;
    await failureOf(made);
    expect(await failureOf(made)).toMatch(/taken by a guest that this token may not see/);
    // qm unlock, qm destroy
    region.lab.control.deleteVm(VMID);
    expect(await run(made)).not.toEqual([]);
  });

  it("a VM in another pool is added again, and one in none is reported as hidden and not changed", async () => {
    const made = createJob(VMID);
    await run(made as unknown as Job);
    const { interfaces, pool, tags } = made.payload;
    const none = { id: "none", is_filtered: false, rules: [] };
    const reconcile = job("ServerReconcile", {
      ...{ interfaces, public_interface: null, pool, tags, filter: none },
    });
    await call(region.lab, "POST /pools", { form: { poolid: "theirs" }, as: "operator" });
    const form = { poolid: "theirs", vms: VMID, "allow-move": 1 };
    await call(region.lab, "PUT /pools", { form, as: "operator" });
    expect(await run(reconcile)).toEqual(["join-pool"]);
    expect(region.lab.control.poolOf(VMID)).toBe(pool);
    region.lab.control.leavePool(VMID);
    expect(await failureOf(reconcile)).toMatch(/taken by a guest that this token may not see/);
    const looking = {
      client: region.client,
      runtime: systemRuntime,
      settings: { ...region.world.settings, vmidRange: { first: VMID, last: VMID + 1 } },
      inspector: new GuestInspector(region.client, systemRuntime),
      signal: new AbortController().signal,
    };
    const pieces: ScanPart[] = [];
    for await (const piece of scanRegion(looking, 1, [VMID, VMID + 1], 50)) pieces.push(piece);
    expect(pieces).toMatchObject([
      { absent: [{ vmid: VMID + 1 }] },
      { hidden: [{ vmid: VMID }] },
      { end: { complete: true } },
    ]);
  });

  it("a VM is adopted with a grant of its own, which is removed with the VM", async () => {
    const vmid = 23_200;
    region.lab.control.stealVmid(vmid);
    const mac = "BC:24:11:22:33:44";
    region.lab.control.editConfig(vmid, {
      net0: `virtio=${mac},bridge=vmbr1,tag=120`,
      description: "by hand",
    });
    const adopt = job(
      "ServerAdopt",
      { tags: ["kule", `org_${vmid}`, `srv_${vmid}`], pool: `kule-org_${vmid}` },
      vmid,
    );
    const refused = await failureOf(adopt);
    expect(refused).toMatch(/taken by a guest that this token may not see/);
    // The commands in the refusal.
    const commands = refused.match(/pveum acl modify \S+ --\w+ \S+ --roles \w+/g) ?? [];
    expect(commands).toHaveLength(2);
    for (const command of commands)
      region.lab.control.pveum(...command.replaceAll("'", "").split(" ").slice(1));
    expect(await run(adopt)).toEqual(["mark", "join-pool"]);
    const start = { action: "start", timeout_seconds: 60, force_after: false };
    expect(await run(job("ServerPower", start, vmid))).toEqual(["start"]);
    await run(job("ServerStop", {}, vmid));
    await run(job("ServerDestroy", {}, vmid));
    expect(region.lab.control.vm(vmid)).toBeUndefined();
    region.lab.control.stealVmid(vmid);
    expect((await call(region.lab, `GET /nodes/pve1/qemu/${vmid}/config`)).status).toBe(403);
  });
});
