import type { Vm } from "@kule/proxmox/hypervisor";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import { textOfRule } from "@kule/proxmox/vm-firewall-rule";
import { describe, expect, it } from "vitest";
import { createJob, SETTINGS } from "../../testing/lab-region.ts";
import { desiredVm } from "./desired-vm.ts";
import { planCreate } from "./plan.ts";

const world = { settings: SETTINGS, openSecret: () => "opened" };
const want = desiredVm(createJob(20_001), world);
const template = { vmid: 9000, node: "pve1" };

/** The VM as it is when nothing is missing. */
const finished: Vm = {
  vmid: 20_001,
  node: "pve1",
  name: "web-20001",
  marker: { serverId: "srv_20001", organisationId: "org_20001", region: "lab1", jobId: "job_20001" },
  tags: ["kule", "org_20001", "srv_20001"],
  pool: "kule-org_20001",
  power: "running",
  process: "pve1:4711",
  highlyAvailable: false,
  config: {
    ...Object.fromEntries(
      Object.entries(want.config).filter((entry): entry is [string, string] => entry[1] !== null),
    ),
    cipassword: "**********",
    boot: "order=scsi0",
    scsi0: "ceph-vm:vm-20001-disk-0,size=80G",
  },
  pendingKeys: [],
  digest: "d",
};
const asWanted: SeenFirewall = {
  ...want.firewall,
  rules: want.firewall.rules.map((rule) => ({ text: textOfRule(rule), isEnabled: true })),
  rulesDigest: null,
};
const stepsFor = (vm: Partial<Vm>, firewall: SeenFirewall = asWanted) =>
  planCreate(want, { state: "present", vm: { ...finished, ...vm }, firewall }).map((step) => step.do);

describe("The plan of a new server", () => {
  it("is empty when nothing is missing", () => {
    expect(stepsFor({})).toEqual([]);
  });

  it("begins with the pool and the clone, and plans the rest when the clone exists", () => {
    expect(planCreate(want, { state: "absent", poolExists: false, template }).map((step) => step.do)).toEqual(
      ["pool", "clone"],
    );
    expect(planCreate(want, { state: "absent", poolExists: true, template })).toEqual([
      { do: "clone", template },
    ]);
  });

  it("only starts a server that is complete but off", () => {
    expect(stepsFor({ power: "stopped" })).toEqual(["start"]);
  });

  it("sends the password again only while our tags are not there", () => {
    expect(
      planCreate(want, {
        state: "present",
        vm: {
          ...finished,
          power: "stopped",
          tags: ["template"],
          config: { ...finished.config, tags: "template" },
        },
        firewall: asWanted,
      }),
    ).toEqual([{ do: "configure", rewriteSecrets: true }, { do: "start" }]);
    expect(stepsFor({ config: { ...finished.config, cores: "1" } })).toEqual([
      "power-off",
      "configure",
      "start",
    ]);
  });

  it("restarts a server whose changes wait for a restart", () => {
    expect(stepsFor({ pendingKeys: ["cores"] })).toEqual(["power-off", "start"]);
  });

  it("resizes before the first start and never shrinks", () => {
    const disk = (size: string) => ({
      power: "stopped" as const,
      config: { ...finished.config, scsi0: `ceph-vm:x,size=${size}` },
    });
    expect(stepsFor(disk("4G"))).toEqual(["resize", "start"]);
    expect(stepsFor(disk("81920M"))).toEqual(["start"]);
    expect(stepsFor(disk("100G"))).toEqual(["start"]);
  });

  it("sets the firewall before the server runs", () => {
    expect(stepsFor({ power: "stopped" }, { ...asWanted, rules: [{ text: null, isEnabled: true }] })).toEqual(
      ["firewall", "start"],
    );
  });

  it("refuses a login name, a password or a tag that would become something else in the guest", () => {
    for (const wrong of [
      { default_user: "a: b" },
      { default_user: "root\nx" },
      { password_hash: "plain" },
      { tags: [] },
      { tags: ["a:b"] },
    ])
      expect(() => desiredVm(createJob(1, wrong), world)).toThrow(/invalid_payload/);
  });

  it("never puts the node's name servers into a guest", () => {
    const [nic] = createJob(1).payload.interfaces;
    if (!nic) throw new Error("a job has an interface");
    const { config } = desiredVm(
      createJob(1, { interfaces: [{ ...nic, dns_servers: [], search_domain: "" }] }),
      world,
    );
    expect(config).toMatchObject({ nameserver: "127.0.0.1", searchdomain: "lab1.internal" });
  });
});
