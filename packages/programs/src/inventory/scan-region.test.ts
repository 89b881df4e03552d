import { createHash } from "node:crypto";
import { systemRuntime } from "@kule/proxmox/runtime";
import { linesOfFilter } from "@kule/rules/firewalls/rule-line";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { runJob } from "../registry.ts";
import { createJob, type LabRegion, quietHost, SETTINGS, startLabRegion } from "../testing/lab-region.ts";
import { GuestInspector } from "./guest-inspector.ts";
import { type FreeNumber, type ScanEnd, type SeenGuest, scanRegion } from "./scan-region.ts";

let region: LabRegion;
let inspector: GuestInspector;
const vmid = 20_500;

beforeAll(async () => {
  region = await startLabRegion();
  await runJob(createJob(vmid), region.world, quietHost());
  inspector = new GuestInspector(region.client, systemRuntime);
});
afterEach(() => region.lab.faults.clear());
afterAll(() => region.stop());

async function look(lookFor: readonly number[] = [], batchSize = 50) {
  const vms: SeenGuest[] = [];
  const absent: FreeNumber[] = [];
  const hidden: FreeNumber[] = [];
  let end: ScanEnd | null = null;
  let pieces = 0;
  const dependencies = {
    client: region.client,
    runtime: systemRuntime,
    settings: { ...SETTINGS, vmidRange: { first: 20_000, last: 20_999 } },
    inspector,
    signal: new AbortController().signal,
  };
  for await (const piece of scanRegion(dependencies, 1, lookFor, batchSize)) {
    pieces += 1;
    if ("vms" in piece) vms.push(...piece.vms);
    else if ("absent" in piece) absent.push(...piece.absent);
    else if ("hidden" in piece) hidden.push(...piece.hidden);
    else end = piece.end;
  }
  return { vms, absent, hidden, end, pieces };
}

test("a scan reports a server's VM, its guest's answers, and the region's capacity", async () => {
  const { vms, end } = await look();
  expect(vms).toHaveLength(1);
  expect(vms[0]).toMatchObject({
    vmid,
    node: "pve1",
    state: "seen",
    power: "on",
    name: `web-${vmid}`,
    marker: { server_id: `srv_${vmid}`, organisation_id: `org_${vmid}`, region: "lab1" },
    tags: ["kule", `org_${vmid}`, `srv_${vmid}`],
    vcpu: 2,
    memory_mb: 4096,
    disk_bytes: 80 * 2 ** 30,
    interfaces: [
      {
        position: 0,
        mac: "BC:24:11:00:00:0A",
        vlan: 120,
        bridge: "vmbr1",
        firewall: true,
        addresses: ["10.20.0.5"],
      },
    ],
    firewall: {
      enable: true,
      macfilter: true,
      ipfilter: true,
      ipsets: [{ name: "ipfilter-net0", addresses: ["10.20.0.5"] }],
      policy_in: "DROP",
      policy_out: "ACCEPT",
      rules: 2,
      rules_digest: createHash("sha256")
        .update(linesOfFilter({ is_filtered: false, rules: [] }, 1).join("\n"))
        .digest("hex"),
    },
    guest: { agent: true, cloud_init: "done", os: "Simulated Linux", hostname: `web-${vmid}` },
  });
  expect(vms[0]?.guest?.addresses).toContain("10.20.0.5");
  expect(end).toMatchObject({ complete: true, trouble: null });
  expect(end?.nodes?.map(({ name, online }) => `${name} ${online}`)).toEqual(["pve1 true", "pve2 true"]);
  expect(end?.storages).toMatchObject([{ name: "ceph-vm", node: null }]);
  expect(end?.images).toContainEqual({ image: "ubuntu-24.04", nodes: ["pve1"] });
});

test("power is read from the VM itself, not from the cluster's stale list", async () => {
  region.lab.control.setPower(vmid, false);
  const { vms } = await look();
  expect(vms[0]).toMatchObject({ power: "off", guest: { agent: false } });
  region.lab.control.setPower(vmid, true);
});

test("a guest without an agent does not delay other guests, and is queried again after a reboot", async () => {
  region.lab.faults.tasks.agentless.add(vmid);
  region.lab.control.setPower(vmid, false);
  region.lab.control.setPower(vmid, true);
  for (let times = 0; times < 15; times++) expect((await look()).vms[0]?.guest?.agent).toBe(false);
  const before = region.calls.filter(({ call }) => call.includes("/agent/")).length;
  await look();
  await look();
  // By now most scans skip it.
  expect(region.calls.filter(({ call }) => call.includes("/agent/")).length - before).toBeLessThanOrEqual(1);
  region.lab.faults.tasks.agentless.delete(vmid);
  region.lab.control.setPower(vmid, false);
  region.lab.control.setPower(vmid, true);
  expect((await look()).vms[0]?.guest).toMatchObject({ agent: true, cloud_init: "done" });
});

test("a node that is down makes the scan incomplete, and its guests unanswered", async () => {
  region.lab.control.nodeDown("pve1");
  const { vms, end, absent } = await look([vmid]);
  expect(vms).toMatchObject([{ vmid, state: "unanswered" }]);
  expect(absent).toEqual([]);
  expect(end).toMatchObject({ complete: false, trouble: expect.stringContaining("offline: pve1") });
  region.lab.control.nodeUp("pve1");
  region.lab.control.setPower(vmid, true);
});

test("a region that cannot be listed is an incomplete scan", async () => {
  region.lab.faults.add({ path: "^/cluster/resources", action: "status-before", status: 500, count: 0 });
  const { vms, end } = await look([vmid]);
  expect(vms).toEqual([]);
  expect(end).toMatchObject({ complete: false });
});

test("a number is reported free only after a query for it alone", async () => {
  region.lab.control.stealVmid(20_777, "pve2");
  const { absent, vms } = await look([vmid, 20_888, 20_777]);
  expect(absent).toMatchObject([{ vmid: 20_888 }]);
  expect(vms.map((vm) => `${vm.vmid} ${vm.marker === null}`)).toEqual([`${vmid} false`, "20777 true"]);
  region.lab.control.deleteVm(20_777);
});

test("many guests are reported in batches of bounded size", async () => {
  const strangers = [20_601, 20_602, 20_603, 20_604];
  for (const each of strangers) region.lab.control.stealVmid(each);
  const { vms, pieces } = await look([], 2);
  expect(vms).toHaveLength(5);
  expect(pieces).toBe(4);
  for (const each of strangers) region.lab.control.deleteVm(each);
});
