// The commands of docs/runbooks/agent.md for a node of the cluster, run in their order against a lab that was
// not prepared: they end with a check that reports ready.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, run } from "@kule/lab/api-client";
import { type Lab, startLab } from "@kule/lab/lab";
import {
  agentGrants,
  agentRoles,
  grantCommand,
  type RoleName,
  roleCommand,
} from "@kule/proxmox/driver-calls/grants";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { preflightSettings } from "./region.ts";
import { startAgent } from "./testing/agent-process.ts";
import { FakeControlPlane, TEST_TOKEN } from "./testing/fake-control-plane.ts";

const DOCS = new URL("../../../docs", import.meta.url).pathname;
const runbook = readFileSync(join(DOCS, "runbooks/agent.md"), "utf8");
const example = readFileSync(join(DOCS, "region.example.yaml"), "utf8");

let directory: string;
let lab: Lab;
let fake: FakeControlPlane;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-runbook-"));
  lab = await startLab({ dataDir: join(directory, "lab"), agentGrant: "none" });
  fake = await FakeControlPlane.start();
  fake.region = "ist1";
});
afterEach(async () => {
  await fake.stop();
  await lab.stop();
  rmSync(directory, { recursive: true });
});

/** The block of commands that makes roles, user, token and grants. */
const setUp = (): string => {
  const [, block = ""] = /```\n( *pveum role add CloudAgent [\s\S]*?)```/.exec(runbook) ?? [];
  return block;
};

/** How a shell parses the commands: the words of every call of pveum. */
function callsOf(script: string): string[][] {
  const bin = join(directory, "bin");
  const told = join(directory, "told");
  mkdirSync(bin, { recursive: true });
  writeFileSync(told, "");
  // Each word ends with a zero byte, each call with two.
  writeFileSync(join(bin, "pveum"), `#!/bin/sh\nprintf '%s\\0' "$@" '' >> '${told}'\n`);
  chmodSync(join(bin, "pveum"), 0o755);
  execFileSync("/bin/sh", ["-eu", "-c", script], { env: { PATH: `${bin}:${process.env.PATH}` } });
  const calls: string[][] = [];
  let words: string[] = [];
  for (const word of readFileSync(told, "utf8").split("\0").slice(0, -1)) {
    if (word !== "") words.push(word);
    else {
      calls.push(words);
      words = [];
    }
  }
  return calls;
}

/** Runs them on the lab's node; answers what they print. */
const onNode = (script: string): string =>
  callsOf(script)
    .map((words) => lab.control.pveum(...words))
    .join("\n");

/** The published region file, of this lab and this control plane, without an edge. */
function regionFile(): string {
  const path = join(directory, "region.yaml");
  const text = example
    .replace(/^control_plane: \S+/m, `control_plane: ${fake.url}`)
    .replace(/^ {2}endpoints: .*$/m, `  endpoints: [${lab.url}]`)
    .replace(
      /^ {4}fingerprints:[\s\S]*?(?=^ {2}pool_prefix)/m,
      `    fingerprints: ["${lab.fingerprint256}"]\n`,
    )
    .replace(/^edge:[\s\S]*?(?=^agent:)/m, "");
  writeFileSync(path, text);
  return path;
}

async function check(token: string) {
  const environment = { KULE_AGENT_TOKEN: TEST_TOKEN, KULE_PVE_TOKEN: token };
  return startAgent(["check", regionFile()], environment).ended;
}

describe("The agent's runbook", { timeout: 60_000 }, () => {
  it("ends with a region that is ready, when its commands are run in their order", async () => {
    // The example's Windows has a number of its own.
    const copy = { form: { newid: 9010, full: 1 }, as: "operator" };
    expect(await run(lab, "POST /nodes/pve1/qemu/9005/clone", copy)).toBe("OK");
    expect(await run(lab, "POST /nodes/pve1/qemu/9010/template", { as: "operator" })).toBe("OK");

    const printed = onNode(setUp());
    const [, secret = ""] = /│ value +│ ([0-9a-f-]{36})$/m.exec(printed) ?? [];
    const { code, output } = await check(`cloud@pve!agent=${secret}`);
    expect(output).not.toMatch(/^WRONG/m);
    expect(output).toMatch(/\nready: \d+ checks, 2 to think about\n$/);
    // Without the token: that is configured elsewhere.
    expect([...output.matchAll(/^advice {2}(.*?) {2}/gm)].map(([, what]) => what)).toEqual([
      "hypervisor: next-id range",
      "hypervisor: frames with a tag",
    ]);
    expect(code).toBe(0);
  });

  it("grants exactly what the calls of the driver need in the published region, bridge by bridge", () => {
    const environment = { KULE_AGENT_TOKEN: TEST_TOKEN, KULE_PVE_TOKEN: "cloud@pve!agent=secret" };
    const { storages, bridges, templates } = preflightSettings(loadRegionFile(regionFile(), environment));
    expect(bridges).toEqual(["vmbr1", "vmbr0"]);
    const roles = (Object.keys(agentRoles(9)) as RoleName[]).map((role) => roleCommand(role, 9));
    const grants = agentGrants({ storages, bridges, templates: Object.values(templates).flat() });
    const made = ["cloud@pve", "cloud@pve!agent"].flatMap((who) =>
      grants.map((grant) => grantCommand(grant, who)),
    );
    const token = ["pveum user add cloud@pve", "pveum user token add cloud@pve agent --privsep 1"];
    expect(callsOf(setUp())).toEqual(callsOf([...roles, ...token, ...made].join("\n")));
  });

  it("is not ready when a command is left out, and names it", async () => {
    const copy = { form: { newid: 9010, full: 1 }, as: "operator" };
    await run(lab, "POST /nodes/pve1/qemu/9005/clone", copy);
    await run(lab, "POST /nodes/pve1/qemu/9010/template", { as: "operator" });
    const printed = onNode(setUp().replace(/^.*vmbr0.*\n/m, ""));
    const [, secret = ""] = /│ value +│ ([0-9a-f-]{36})$/m.exec(printed) ?? [];
    const { code, output } = await check(`cloud@pve!agent=${secret}`);
    expect(output).toContain(
      "pveum acl modify /sdn/zones/localnetwork/vmbr0 --users cloud@pve --roles CloudNet && pveum acl modify /sdn/zones/localnetwork/vmbr0 --tokens 'cloud@pve!agent' --roles CloudNet",
    );
    expect(code).toBe(1);
  });

  it("has no other command that Proxmox VE would refuse", async () => {
    onNode(setUp());
    lab.control.stealVmid(20_900);
    for (const poolid of ["accounting", "kule-org_1"])
      await call(lab, "POST /pools", { form: { poolid }, as: "operator" });
    const inText = [...runbook.matchAll(/`([^`\n]*\bpveum [^`\n]*)`/g)].map(([, command = ""]) => command);
    expect(inText.length).toBeGreaterThanOrEqual(3);
    const meant = { "<vmid>": "20900", "<pool>": "accounting", "<organisation id>": "org_1" };
    for (const command of inText)
      onNode(Object.entries(meant).reduce((text, [word, value]) => text.replaceAll(word, value), command));
  });
});
