// The findings about the token's privileges in a lab whose roles and grants root has changed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call } from "@kule/lab/api-client";
import { type Lab, startLab } from "@kule/lab/lab";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ProxmoxClient } from "./client.ts";
import { agentRoles, type RoleName } from "./driver-calls/grants.ts";
import { type PreflightSettings, preflight } from "./preflight.ts";

let directory: string;
let lab: Lab;
let client: ProxmoxClient;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-preflight-"));
  lab = await startLab({ dataDir: directory, agentGrant: "pools" });
  client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: [lab.fingerprint256] },
  });
});
afterEach(async () => {
  client.close();
  await lab.stop();
  rmSync(directory, { recursive: true });
});

const settings: PreflightSettings = {
  storages: ["ceph-vm"],
  bridges: ["vmbr0", "vmbr1"],
  poolPrefix: "kule",
  templates: {
    "ubuntu-24.04": [9000],
    "ubuntu-22.04": [9001],
    "debian-12": [9002],
    "debian-13": [9003],
    "kule-lb": [9007],
    "rocky-9": [9004],
    "windows-2022": [9005],
    "windows-2025": [9006],
  },
  // Beyond the numbers of guests that are created manually.
  vmidRange: [1_000_000, 1_000_999],
  hasNodeFilter: true,
};
const complaints = async (changes: Partial<PreflightSettings> = {}) =>
  (await preflight(client, { ...settings, ...changes })).filter(({ ok }) => !ok);
const privs = (...all: string[]) => ["--privs", all.join(" ")];

describe("The check of a token that has the runbook's grants", () => {
  it("finds nothing, and nothing too much", async () => {
    expect(await complaints()).toEqual([]);
  });

  it.each(Object.entries(agentRoles(9)) as [RoleName, string[]][])(
    "names every privilege that %s lacks, and the command",
    async (role, all) => {
      // On / there are two checks of their own.
      const path = {
        CloudAgent: "/pool",
        CloudTemplate: "/vms/9000",
        CloudStore: "/storage/ceph-vm",
      } as const;
      const on =
        role in path
          ? path[role as keyof typeof path]
          : role === "CloudNet"
            ? "/sdn/zones/localnetwork/vmbr1"
            : "/nodes";
      for (const missing of all) {
        lab.control.pveum("role", "modify", role, ...privs(...all.filter((each) => each !== missing)));
        const found = (await complaints()).find(({ check }) => check === `privileges on ${on}`);
        expect(found, missing).toMatchObject({ severity: "required", found: `missing: ${missing}` });
        if (all.length > 1) expect(found?.fix).toBe(`pveum role modify ${role} --privs "${all.join(" ")}"`);
      }
    },
  );

  it("is fixed by the commands that it prints", async () => {
    lab.control.pveum("acl", "delete", "/pool", "--tokens", lab.tokenId, "--roles", "CloudAgent");
    lab.control.pveum("acl", "delete", "/", "--users", "cloud@pve", "--roles", "CloudNode");
    const found = await complaints();
    expect(found.map(({ check }) => check)).toEqual(["privileges on /pool", "next-id range", "firewall"]);
    for (const { fix } of found) for (const command of commandsIn(fix ?? "")) lab.control.pveum(...command);
    expect(await complaints()).toEqual([]);
  });

  it("says that the range of free numbers and the firewall cannot be read without Sys.Audit on /", async () => {
    lab.control.pveum("acl", "delete", "/", "--tokens", lab.tokenId, "--roles", "CloudNode");
    const grant = "pveum acl modify / --users cloud@pve --roles CloudNode --propagate 0";
    expect(await complaints()).toMatchObject(
      ["next-id range", "firewall"].map((check) => ({
        check,
        severity: "advised",
        found: "not readable: Sys.Audit on / is missing",
        fix: expect.stringContaining(grant),
      })),
    );
  });

  it("warns of what nothing needs: a role on all VMs, and privileges of former versions", async () => {
    for (const who of [
      ["--users", "cloud@pve"],
      ["--tokens", lab.tokenId],
    ])
      lab.control.pveum("acl", "modify", "/vms", ...who, "--roles", "CloudAgent");
    const unneeded = ["VM.Config.CDROM", "VM.Migrate", "VM.Snapshot"];
    lab.control.pveum("role", "modify", "CloudAgent", ...privs(...agentRoles(9).CloudAgent, ...unneeded));
    lab.control.pveum("role", "modify", "CloudNet", ...privs("SDN.Use", "SDN.Audit"));
    const found = await complaints();
    expect(found.every(({ severity }) => severity === "advised")).toBe(true);
    const lines = found.map((each) => each.found);
    expect(lines).toContainEqual(`on /pool: ${unneeded.join(", ")}`);
    expect(lines).toContainEqual(expect.stringMatching(/^on \/vms: .*VM\.Allocate/));
    expect(lines).toContainEqual("on /sdn/zones/localnetwork/vmbr1: SDN.Audit");
    expect(found.find((each) => each.found.startsWith("on /vms:"))?.fix).toContain("pveum acl delete /vms");
  });

  it("reports foreign pools that the role reaches, and how to exclude them", async () => {
    await call(lab, "POST /pools", { form: { poolid: "accounting" }, as: "operator" });
    const [found] = await complaints();
    expect(found).toMatchObject({
      check: "pools of others",
      found: "in reach: accounting",
      severity: "advised",
    });
    for (const command of commandsIn(found?.fix ?? "")) lab.control.pveum(...command);
    expect(await complaints()).toEqual([]);
  });

  it("finds a template whose clone would be refused for its bridge or a device of the host", async () => {
    lab.control.editConfig(9001, {
      net1: "virtio=BC:24:11:00:00:02,bridge=vmbr7,tag=12",
      usb0: "host=046d:c52b",
    });
    const found = await complaints();
    expect(found.map((each) => [each.severity, each.check, each.found])).toEqual([
      ["required", "template ubuntu-22.04 (9001)", "carries usb0, a device of the host"],
      [
        "required",
        "template ubuntu-22.04 (9001)",
        "has an interface on vmbr7, which the token may not use, so no clone can be made",
      ],
    ]);
    const clone = { node: "pve1", vmid: 9001, newid: 1_000_001, pool: "kule-a" };
    await client.call("POST /pools", { poolid: "kule-a" });
    const refused = () => client.call("POST /nodes/{node}/qemu/{vmid}/clone", clone);
    await expect(refused()).rejects.toThrow("/sdn/zones/localnetwork/vmbr7/12, SDN.Use");
    lab.control.editConfig(9001, {}, ["net1"]);
    await expect(refused()).rejects.toThrow("only root can set 'usb0' config for real devices");
  });

  it("checks for the names that Proxmox VE 8 has", async () => {
    expect(agentRoles(8).CloudAgent).toContain("VM.Monitor");
    expect(agentRoles(8).CloudAgent.filter((each) => each.includes("GuestAgent"))).toEqual([]);
  });
});

/** The commands of a finding, as the arguments of `pveum`; the text in parentheses is additional. */
function commandsIn(fix: string): string[][] {
  return fix
    .replace(/ \(.*$/, "")
    .split(" && ")
    .map((command) => command.split(" ").map((word) => word.replaceAll("'", "")))
    .map(([, ...words]) => words);
}
