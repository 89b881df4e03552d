// How a Windows gets its password: from its guest agent and never from its drive, on the lab.

import type { PayloadOf } from "@kule/contract/schemas";
import { call as callLab } from "@kule/lab/api-client";
import { passwordFits } from "@kule/lab/console/guest-facts";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Cancelled, Failed } from "../errors.ts";
import type { Host, Job } from "../program.ts";
import { runJob } from "../registry.ts";
import {
  createJob,
  endState,
  type LabRegion,
  quietHost,
  startLabRegion,
  stepsDone,
} from "../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";

const MINUTE = 60_000;
const USER = "Administrator";

/** When the guests' agents answer, in virtual time: until then they are silent. */
let agentsComeAt = 0;
let waited = 0;
let region: LabRegion;
let nextVmid = 23_000;

beforeAll(async () => {
  const virtual = virtualRuntime();
  const pause: typeof virtual.pause = async (milliseconds, signal) => {
    await virtual.pause(milliseconds, signal);
    waited += milliseconds;
    if (waited >= agentsComeAt) region.lab.faults.tasks.agentless.clear();
  };
  region = await startLabRegion({}, {}, { ...virtual, pause });
});
afterAll(() => region.stop());
afterEach(() => {
  region.lab.faults.clear();
  region.lab.faults.tasks.clear();
});

const windows = {
  template: "windows-2022",
  os_family: "windows",
  default_user: USER,
  password_hash: null,
  ssh_public_keys: [],
} as const;

const createOf = (vmid: number, more: Partial<PayloadOf<"ServerCreate">> = {}) =>
  createJob(vmid, { ...windows, ssh_public_keys: [], sealed_password: "first", ...more });

let rebuilds = 0;
function rebuildOf(vmid: number, sealed_password: string): Job<PayloadOf<"ServerRebuild">> {
  rebuilds += 1;
  const { payload } = createOf(vmid, { sealed_password });
  return { id: `job_rebuild_${rebuilds}`, payload: { ...payload, kind: "ServerRebuild" } };
}

async function run(job: Job, host = quietHost()): Promise<string[]> {
  await runJob(job, region.world, host);
  return stepsDone(host.events);
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}

function vmOf(vmid: number) {
  const vm = region.lab.control.vm(vmid);
  if (vm === undefined) throw new Error(`no VM ${vmid}`);
  return vm;
}

const passwordOf = (vmid: number, sealed = "first") => `opened ${sealed} for srv_${vmid}`;
const opens = (vmid: number, sealed = "first") => passwordFits(vmOf(vmid), USER, passwordOf(vmid, sealed));
const timesSet = (vmid: number) => region.effects(vmid)["guest-password-set"] ?? 0;

/** From now on the guest agent is silent, and answers when programs have waited this long. */
function silence(vmid: number, milliseconds: number): void {
  waited = 0;
  agentsComeAt = milliseconds;
  region.lab.faults.tasks.agentless.add(vmid);
}

/** Everything of a VM that a user of its guest, or of the hypervisor, could read. */
async function readable(vmid: number): Promise<string> {
  const path = `/nodes/${vmOf(vmid).node}/qemu/${vmid}/cloudinit/dump`;
  const dumps = [];
  for (const type of ["user", "meta", "network"]) {
    const { status, data } = await callLab(region.lab, `GET ${path}?type=${type}`, { as: "operator" });
    expect(status).toBe(200);
    dumps.push(data);
  }
  return JSON.stringify([vmOf(vmid).config, vmOf(vmid).pending, vmOf(vmid).drive, dumps]);
}

describe("The password of a Windows server", { timeout: 120_000 }, () => {
  it("is set in the guest once it runs, and is neither on its drive nor in its config", async () => {
    const vmid = nextVmid++;
    const steps = await run(createOf(vmid));
    expect(steps.slice(-3)).toEqual(["start", "set-password", "note"]);
    expect(opens(vmid)).toBe(true);
    const text = await readable(vmid);
    expect(text).toContain('"uuid');
    expect(text).not.toContain("opened");
    expect(text).not.toMatch(/admin_pass|cipassword|password:/);
    expect(vmOf(vmid).config).not.toHaveProperty("sshkeys");
    expect(vmOf(vmid).config).not.toHaveProperty("serial0");
    // Nothing is left to do, although the password cannot be read back.
    expect(await run(createOf(vmid))).toEqual([]);
    expect(timesSet(vmid)).toBe(1);
  });

  it("stays unchanged when the drive changes and the guest takes itself for a new instance", async () => {
    const vmid = nextVmid++;
    await run(createOf(vmid));
    region.lab.control.editConfig(vmid, { ipconfig0: "ip=10.20.0.9/24" });
    region.lab.control.setPower(vmid, false);
    region.lab.control.setPower(vmid, true);
    expect(vmOf(vmid).guest.firstBoots).toBe(2);
    expect(opens(vmid)).toBe(true);
  });

  it("waits for an agent that answers after many minutes", async () => {
    const vmid = nextVmid++;
    silence(vmid, 12 * MINUTE);
    const idle: boolean[] = [];
    const host = quietHost({ idles: (isIdle) => idle.push(isIdle) });
    expect(await run(createOf(vmid), host)).toContain("set-password");
    // While it waits, the agent can run another job.
    expect(idle).toEqual([true, false]);
    expect(waited).toBeGreaterThanOrEqual(12 * MINUTE);
    expect([opens(vmid), timesSet(vmid)]).toEqual([true, 1]);
  });

  it("fails with the agent's code when none answers, and is set by a retry of the same job", async () => {
    const vmid = nextVmid++;
    silence(vmid, Number.POSITIVE_INFINITY);
    const error = await errorOf(run(createOf(vmid)));
    if (!(error instanceof Failed)) throw error;
    expect([error.facts.code, error.step]).toEqual(["guest_agent_unavailable", "set-password"]);
    expect(error.facts.message).toContain("did not answer within 1200 s");
    expect([waited >= 20 * MINUTE, waited < 22 * MINUTE, timesSet(vmid)]).toEqual([true, true, 0]);
    region.lab.faults.tasks.agentless.clear();
    expect(await run(createOf(vmid))).toEqual(["set-password", "note"]);
    expect(opens(vmid)).toBe(true);
    expect(region.effects(vmid)).toMatchObject({ "guest-password-set": 1, "vm-started": 1, vms: 1 });
  });

  it("is not waited for any longer when the create is called off", async () => {
    const vmid = nextVmid++;
    silence(vmid, Number.POSITIVE_INFINITY);
    const throwIfCancelled = () => {
      if (waited > MINUTE) throw new Cancelled();
    };
    expect(await errorOf(run(createOf(vmid), quietHost({ throwIfCancelled })))).toBeInstanceOf(Cancelled);
    expect(waited).toBeLessThan(2 * MINUTE);
  });

  it("is set once by the attempt after an agent that died between the start and the password", async () => {
    const vmid = nextVmid++;
    const died = quietHost({
      crashPoint: (name) => {
        if (name === "ServerCreate.start.after-ack") throw new Error("died");
      },
    });
    expect(await errorOf(run(createOf(vmid), died))).toMatchObject({ message: "died" });
    expect(timesSet(vmid)).toBe(0);
    expect(await run(createOf(vmid))).toEqual(["set-password", "note"]);
    expect([opens(vmid), timesSet(vmid)]).toEqual([true, 1]);
  });

  it("is removed from the drive of a VM that an earlier release has left incomplete", async () => {
    const vmid = nextVmid++;
    const died = quietHost({
      crashPoint: (name) => {
        if (name === "ServerCreate.start.before-send") throw new Error("died");
      },
    });
    await errorOf(run(createOf(vmid), died));
    region.lab.control.editConfig(vmid, { cipassword: passwordOf(vmid) });
    region.lab.control.setPower(vmid, true);
    expect(await run(createOf(vmid))).toEqual(["power-off", "configure", "start", "set-password", "note"]);
    expect(await readable(vmid)).not.toContain("opened");
    expect(opens(vmid)).toBe(true);
  });

  it("is not created for a server that is not started: it could not be set in its guest", async () => {
    const vmid = nextVmid++;
    const openSecret = () => {
      throw new Error("nothing to open");
    };
    const host = quietHost();
    await runJob(
      createOf(vmid, { start: false, sealed_password: null }),
      { ...region.world, openSecret },
      host,
    );
    expect(stepsDone(host.events)).toEqual(["pool", "clone", "resize", "firewall", "configure"]);
    expect(await readable(vmid)).not.toMatch(/admin_pass|cipassword/);
  });

  it("is set by a rebuild in the same way", async () => {
    const vmid = nextVmid++;
    await run(createOf(vmid));
    const rebuild = rebuildOf(vmid, "second");
    const idle: boolean[] = [];
    const host = quietHost({ idles: (isIdle) => idle.push(isIdle) });
    expect((await run(rebuild, host)).slice(-3)).toEqual(["start", "set-password", "note"]);
    expect(idle).toEqual([true, false]);
    expect([opens(vmid), opens(vmid, "second")]).toEqual([false, true]);
    expect(await readable(vmid)).not.toContain("opened");
    expect(await run(rebuild)).toEqual([]);
  });

  it("is never written for the next start", async () => {
    const vmid = nextVmid++;
    await run(createOf(vmid));
    const { server } = createOf(vmid).payload;
    const reset = {
      id: "job_reset",
      payload: {
        ...{ kind: "ServerPasswordReset", server, vmid, os_family: "windows", username: USER },
        ...{ when: "next_boot", password_hash: null, sealed_password: "second" },
      },
    } as unknown as Job<PayloadOf<"ServerPasswordReset">>;
    const error = await errorOf(run(reset));
    expect(error).toMatchObject({ facts: { code: "invalid_payload" }, step: "write" });
    expect(await readable(vmid)).not.toContain("opened");
  });

  it("survives a crash anywhere", async () => {
    const points = await survivesACrashAnywhere(async () => {
      const vmid = nextVmid++;
      return {
        run: (at: NonNullable<Host["crashPoint"]>) => run(createOf(vmid), quietHost({ crashPoint: at })),
        state: async () => ({ vm: await endState(region, vmid), opens: opens(vmid) }),
        // The same password again is the same password: only how often it was set in the guest may differ.
        effects: async () => ({ ...region.effects(vmid), "guest-password-set": 1 }),
      };
    });
    for (const step of ["set-password", "note"])
      for (const point of ["before-send", "effect-done", "reply-read", "after-ack"])
        expect(points).toContain(`ServerCreate.${step}.${point}`);
  });
});
