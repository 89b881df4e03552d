import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LabSite, startAgent, startLabSite } from "./testing/agent-process.ts";
import { FakeControlPlane } from "./testing/fake-control-plane.ts";

let fake: FakeControlPlane;
let site: LabSite;
let regionFile: string;

beforeAll(async () => {
  fake = await FakeControlPlane.start();
  site = await startLabSite(fake);
  regionFile = readFileSync(site.path, "utf8");
});
afterAll(async () => {
  await site.stop();
  await fake.stop();
});

/** @param templates lines of the region file below `templates:` */
async function images(templates: string) {
  writeFileSync(site.path, regionFile.replace("  ubuntu-24.04: { vmid: 9000 }\n", templates));
  return await startAgent(["images", site.path], site.environment).ended;
}

describe("kule-agent images", () => {
  it("lists what the region file names, and the cluster's other templates", async () => {
    const { code, output } = await images("  ubuntu-24.04: { vmid: 9000 }\n  debian-12: { vmid: 9002 }\n");
    expect(output).toMatch(/^ok {6}ubuntu-24\.04 {2}9000 {2}on pve\d, disk scsi0 \d/m);
    expect(output).toMatch(/^ok {6}debian-12 {5}9002 {2}on pve\d/m);
    expect(output).toMatch(/does not name:\n(.*\n)* {2}9003 {2}debian-13 on pve\d/);
    expect(output).not.toMatch(/^ {2}900[02] /m);
    expect(output).toMatch(/\n2 named: 2 ok, 0 missing, 0 wrong\n$/);
    expect(code).toBe(0);
  });

  it("says what cannot be made without the template of an appliance, which is made as any other", async () => {
    const without = await images("  debian-12: { vmid: 9002 }\n");
    expect(without.output).toContain("does not name kule-lb: no load balancers can be made in this region.");
    const missing = await images("  kule-lb: { vmid: 9104 }\n");
    expect(missing.output).toContain("qm set 9104 --scsi0 ceph-vm:0,import-from=/root/kule-lb.qcow2");
    const named = await images("  kule-lb: { vmid: 9007 }\n");
    expect(named.output).toMatch(/^ok {6}kule-lb {2}9007 {2}on pve\d/m);
    expect([named.code, named.output.includes("no load balancers")]).toEqual([0, false]);
  });

  it("shows the commands that make a missing one, on its node and its storage", async () => {
    const { code, output } = await images(
      "  debian-13: { vmid_by_node: { pve1: 9101, pve2: 9102 } }\n  windows-2025: { vmid: 9103 }\n",
    );
    expect(output).toMatch(/^MISSING debian-13 {5}9101 {2}not in the cluster/m);
    expect(output).toContain("copy it to /root of the node pve2");
    expect(output).toContain("qm set 9102 --scsi0 ceph-vm:0,import-from=/root/debian-13.qcow2");
    expect(output).toContain("qm set 9102 --ide2 ceph-vm:cloudinit --boot order=scsi0\n  qm template 9102");
    expect(output).toContain("windows-2025: install it into VM 9103");
    expect(output).toMatch(/\n3 named: 0 ok, 3 missing, 0 wrong\n$/);
    expect(code).toBe(1);
  });

  it("says what is wrong with a template, and on which node it is not", async () => {
    const { code, output } = await images("  debian-12: { vmid_by_node: { pve9: 9002 } }\n");
    expect(output).toMatch(/^WRONG {3}debian-12 {2}9002 {2}on pve\d\n {10}fix: The region file says pve9/m);
    expect(code).toBe(1);
  });

  it("says that the hypervisor refuses the token", async () => {
    writeFileSync(site.path, regionFile);
    const { code, output } = await startAgent(["images", site.path], {
      ...site.environment,
      KULE_PVE_TOKEN: "cloud@pve!agent=00000000-0000-0000-0000-000000000000",
    }).ended;
    expect(output).toMatch(/^hypervisor: .*401.*\n.+/);
    expect(code).toBe(1);
  });

  it("ends with the status of an unusable configuration, as the other commands do", async () => {
    const { code, output } = await images("  debian-12: { vmid: many }\n");
    expect(output).toMatch(/region\.yaml.*:\d+.*vmid/s);
    expect(code).toBe(78);
  });
});
