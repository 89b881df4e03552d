// `kule-agent conformance` as an operator runs it, against a lab.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lab, startLab } from "@kule/lab/lab";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAgent } from "./testing/agent-process.ts";

let directory: string;
let lab: Lab;
let environment: Record<string, string>;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-agent-conformance-"));
  lab = await startLab({ dataDir: directory, agentGrant: "pools" });
  environment = {
    KULE_PVE_URL: lab.url,
    KULE_PVE_TOKEN: `${lab.tokenId}=${lab.tokenSecret}`,
    KULE_PVE_FINGERPRINT: lab.fingerprint256,
    KULE_PVE_STORAGE: "ceph-vm",
    KULE_PVE_BRIDGE: "vmbr1",
    KULE_PVE_TEMPLATE: "9000",
    KULE_PVE_VMIDS: "29990-29995",
    KULE_PVE_AGENT_SECONDS: "20",
  };
});
afterAll(async () => {
  await lab.stop();
  rmSync(directory, { recursive: true });
});

const conformance = (changes: Record<string, string> = {}) =>
  startAgent(["conformance"], { ...environment, ...changes });

describe("kule-agent conformance", { timeout: 60_000 }, () => {
  it("shows each call as it tries it, and ends with the result", async () => {
    const { code, output } = await conformance().ended;
    expect(output).toMatch(/^ {2}1 ok {7}GET \/version, a token that is right$/m);
    expect(output).toMatch(/\nas expected: \d+ answers\n$/);
    expect(output).not.toContain(lab.tokenSecret);
    expect(code).toBe(0);
    expect(lab.control.vm(29_990)).toBeUndefined();
  });

  it("fails when an answer differs, and names it", async () => {
    lab.faults.add({
      method: "PUT",
      path: "/firewall/options$",
      action: "status-before",
      status: 500,
      reason: "odd",
    });
    const { code, output } = await conformance().ended;
    expect(output).toMatch(
      / DIFFERS {2}PUT .*\/firewall\/options, all that the driver sets: is refused: ProxmoxFailure .*odd/,
    );
    expect(output).toMatch(/\nnot as expected: \d+ of \d+ answers differ/);
    expect(code).toBe(1);
    expect(lab.control.vm(29_990)).toBeUndefined();
  });

  it("cleans up on the first signal", async () => {
    lab.faults.tasks.add({ type: "qmclone", action: "held", stage: "unlock" });
    const running = conformance();
    await lab.faults.tasks.whenHeld();
    running.signal("SIGINT");
    lab.faults.tasks.release();
    const { code, output } = await running.ended;
    expect(output).toContain("aborted; what was created has been removed");
    expect(code).toBe(1);
    expect(lab.control.vm(29_990)).toBeUndefined();
  });

  it("refuses a range that is in use", async () => {
    lab.control.stealVmid(29_991);
    const { code, output } = await conformance().ended;
    lab.control.deleteVm(29_991);
    expect(output).toContain("not run to its end: the range 29990-29995 is not empty: 29991");
    expect(code).toBe(1);
  });

  it("names every setting that is missing or wrong, and does nothing", async () => {
    expect(await startAgent(["conformance"]).ended).toMatchObject({
      code: 78,
      output: expect.stringMatching(
        /KULE_PVE_URL is not set.*\nKULE_PVE_TOKEN is not set.*\nKULE_PVE_STORAGE is not set.*\nKULE_PVE_BRIDGE is not set.*\nKULE_PVE_TEMPLATE is not set.*\nKULE_PVE_VMIDS is not set/,
      ),
    });
    const wrong = {
      KULE_PVE_URL: "http://pve1",
      KULE_PVE_TOKEN: "secret",
      KULE_PVE_FINGERPRINT: "AB:CD",
      KULE_PVE_TEMPLATE: "ubuntu",
      KULE_PVE_VMIDS: "29995-29990",
    };
    const { output } = await conformance(wrong).ended;
    for (const variable of Object.keys(wrong)) expect(output).toMatch(new RegExp(`^${variable}\\b`, "m"));
    expect(output).not.toContain("as cloud@pve");
  });
});
