// What is done to a server that is there, on the lab: ServerPower and ServerResize.

import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Failed } from "../errors.ts";
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

let region: LabRegion;
let nextVmid = 22_000;
let nextJob = 1;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());
afterEach(() => {
  region.lab.faults.clear();
  region.lab.faults.tasks.clear();
});

async function newServer(start = true): Promise<number> {
  const vmid = nextVmid++;
  await runJob(createJob(vmid, { start }), region.world, quietHost());
  return vmid;
}

function job<Kind extends JobKind>(
  kind: Kind,
  vmid: number,
  more: Omit<PayloadOf<Kind>, "kind" | "server" | "vmid">,
): Job<PayloadOf<Kind>> {
  const server = { id: `srv_${vmid}`, organisation_id: `org_${vmid}`, name: `web-${vmid}` };
  return { id: `job_${nextJob++}`, payload: { kind, server, vmid, ...more } as unknown as PayloadOf<Kind> };
}

type PowerAction = PayloadOf<"ServerPower">["action"];
const powerJob = (vmid: number, action: PowerAction, force = false) =>
  job("ServerPower", vmid, { action, timeout_seconds: 60, force_after: force });
const resizeJob = (vmid: number, size: [vcpu: number, memoryMb: number, diskGb: number], run = true) =>
  job("ServerResize", vmid, {
    package: { vcpu: size[0], memory_mb: size[1], disk_gb: size[2] },
    run,
  } as never);

async function run(job: Job, host = quietHost()) {
  const observed = await runJob(job, region.world, host);
  return { observed, steps: stepsDone(host.events) };
}

async function failureOf(promise: Promise<unknown>): Promise<Failed> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Failed) return error;
  throw new Error("it did not fail for good", { cause: error });
}

const vmOf = (vmid: number) => region.lab.control.vm(vmid);
const pidOf = (vmid: number) => vmOf(vmid)?.process?.pid;

/** Without the note, which names a job. */
async function stateOf(vmid: number): Promise<unknown> {
  return JSON.parse(JSON.stringify(await endState(region, vmid)).replace(/kule:job job_\d+[^"\\]*/g, ""));
}

function crashCases(newJob: (vmid: number) => Job, prepare = () => newServer()) {
  return async () => {
    const vmid = await prepare();
    const made = newJob(vmid);
    const before = region.effects(vmid);
    return {
      run: (at: NonNullable<Host["crashPoint"]>) => run(made, quietHost({ crashPoint: at })),
      state: async () => {
        const { process: _, ...rest } = (await stateOf(vmid)) as { process?: unknown };
        return JSON.parse(JSON.stringify(rest).replace(/"process":"[^"]*"/g, '"process":""'));
      },
      effects: async () =>
        Object.fromEntries(
          Object.entries(region.effects(vmid)).map(([op, count]) => [op, count - (before[op] ?? 0)]),
        ),
    };
  };
}

describe("ServerPower", { timeout: 600_000 }, () => {
  it("starts, shuts down and stops, and does nothing to a server that is there already", async () => {
    const vmid = await newServer(false);
    expect(await run(powerJob(vmid, "start"))).toMatchObject({
      observed: { power_state: "on" },
      steps: ["start"],
    });
    expect((await run(powerJob(vmid, "start"))).steps).toEqual([]);
    expect(await run(powerJob(vmid, "shutdown"))).toMatchObject({
      observed: { power_state: "off" },
      steps: ["shut-down"],
    });
    await run(powerJob(vmid, "start"));
    expect((await run(powerJob(vmid, "stop"))).steps).toEqual(["power-off"]);
    expect((await run(powerJob(vmid, "stop"))).steps).toEqual([]);
  });

  it("has rebooted when the guest runs in another process, once for each job", async () => {
    const vmid = await newServer();
    const first = pidOf(vmid);
    const reboot = powerJob(vmid, "reboot");
    expect((await run(reboot)).steps).toEqual(["note", "shut-down", "start"]);
    const second = pidOf(vmid);
    expect(second).not.toBe(first);
    // The same job again, its end never reported: it sees its note and another process.
    expect((await run(reboot)).steps).toEqual([]);
    expect(pidOf(vmid)).toBe(second);
    await run(powerJob(vmid, "reboot"));
    expect(pidOf(vmid)).not.toBe(second);
  });

  it("has reset when a reset came after the last one it knew, in the same process", async () => {
    const vmid = await newServer();
    const pid = pidOf(vmid);
    const reset = powerJob(vmid, "reset");
    expect((await run(reset)).steps).toEqual(["note", "reset"]);
    expect((await run(reset)).steps).toEqual([]);
    expect((await run(powerJob(vmid, "reset"))).steps).toEqual(["note", "reset"]);
    expect(pidOf(vmid)).toBe(pid);
    expect(region.effects(vmid)["vm-reset"]).toBe(2);
  });

  it("does not take an earlier reset that failed for its own", async () => {
    const vmid = await newServer();
    const reset = powerJob(vmid, "reset");
    region.lab.faults.tasks.add({ type: "qmreset", action: "error", text: "VM 1 qmp command failed" });
    await failureOf(run(reset));
    expect((await run(reset)).steps).toEqual(["reset"]);
    expect(region.effects(vmid)["vm-reset"]).toBe(1);
  });

  it("leaves a guest that does not listen running and says so, or takes its power away when that is allowed", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.deafGuests.add(vmid);
    const failed = await failureOf(run(powerJob(vmid, "shutdown")));
    expect([failed.facts.code, failed.seen]).toEqual(["guest_ignored", { power_state: "on" }]);
    expect((await run(powerJob(vmid, "reboot", true))).observed.power_state).toBe("on");
    expect((await run(powerJob(vmid, "shutdown", true))).observed.power_state).toBe("off");
  });

  it("stops past our own shutdown, which still waits for the guest", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.add({ type: "qmshutdown", action: "never-ends" });
    const { world } = region;
    const owner = { serverId: `srv_${vmid}`, region: world.settings.region };
    const ended = new AbortController();
    const shutdown = runJob(powerJob(vmid, "shutdown"), world, quietHost({ signal: ended.signal })).catch(
      () => {},
    );
    for (;;) {
      const sighting = await world.hypervisor.findVm(vmid, owner);
      if (sighting.state === "busy") break;
    }
    expect((await run(powerJob(vmid, "stop"))).observed.power_state).toBe("off");
    ended.abort(new Error("over"));
    await shutdown;
  });

  it("fails for a server whose VM is gone, and for a reset of one that has stopped", async () => {
    const failed = await failureOf(run(powerJob(29_999, "start")));
    expect(failed.facts.code).toBe("vm_missing");
    const vmid = await newServer(false);
    const stopped = await failureOf(run(powerJob(vmid, "reset")));
    expect(stopped.facts.code).toBe("guest_stopped");
  });

  it("does not shut down a guest that was started since it was planned", async () => {
    const vmid = await newServer();
    const { hypervisor, settings } = region.world;
    const owner = { serverId: `srv_${vmid}`, region: settings.region };
    const sighting = await hypervisor.findVm(vmid, owner);
    if (sighting.state !== "present") throw new Error("the VM is there");
    await run(powerJob(vmid, "reboot"));
    const effect = {
      beforeCall: async () => {},
      answered: async () => {},
      taskStarted: async () => {},
      stillRunning: async () => {},
      note: () => {},
    };
    await hypervisor.shutdown(
      vmid,
      owner,
      { timeoutSeconds: 60, force: true, process: sighting.vm.process },
      effect,
    );
    await hypervisor.stop(vmid, owner, effect, sighting.vm.process);
    expect(vmOf(vmid)?.process).not.toBeNull();
  });

  it.each(["start", "shutdown", "stop", "reboot", "reset"] as const)(
    "%s survives a crash anywhere",
    async (action) => {
      await survivesACrashAnywhere(
        crashCases(
          (vmid) => powerJob(vmid, action),
          () => newServer(action !== "start"),
        ),
      );
    },
  );
});

describe("ServerResize", { timeout: 600_000 }, () => {
  it("applies CPU and memory with a restart, and grows the disk to what was said and not by it", async () => {
    const vmid = await newServer();
    const resize = resizeJob(vmid, [4, 8192, 160]);
    const { observed, steps } = await run(resize);
    expect(steps).toEqual(["grow-disk", "configure", "shut-down", "start"]);
    expect(observed).toMatchObject({
      power_state: "on",
      vcpu: 4,
      memory_mb: 8192,
      disk_bytes: 160 * 2 ** 30,
    });
    expect(vmOf(vmid)?.config).toMatchObject({ cores: "4", memory: "8192" });
    expect(vmOf(vmid)?.pending).toEqual({});
    expect((await run(resize)).steps).toEqual([]);
  });

  it("goes down without touching the disk, and leaves a stopped server stopped", async () => {
    const vmid = await newServer(false);
    const { steps, observed } = await run(resizeJob(vmid, [1, 2048, 80], false));
    expect(steps).toEqual(["configure"]);
    expect(observed).toMatchObject({ power_state: "off", disk_bytes: 80 * 2 ** 30 });
    expect(vmOf(vmid)?.config).toMatchObject({ cores: "1", memory: "2048" });
  });

  it("grows a disk under a running guest", async () => {
    const vmid = await newServer();
    const pid = pidOf(vmid);
    expect((await run(resizeJob(vmid, [2, 4096, 100]))).steps).toEqual(["grow-disk"]);
    expect(pidOf(vmid)).toBe(pid);
  });

  it("finishes a change that a run before it left pending", async () => {
    const vmid = await newServer();
    const resize = resizeJob(vmid, [4, 8192, 80]);
    const { world } = region;
    await world.hypervisor.configure(
      vmid,
      { serverId: `srv_${vmid}`, region: world.settings.region },
      { desired: { cores: "4", memory: "8192" }, rewriteSecrets: false },
      {
        beforeCall: async () => {},
        answered: async () => {},
        taskStarted: async () => {},
        stillRunning: async () => {},
        note: () => {},
      },
    );
    expect(Object.keys(vmOf(vmid)?.pending ?? {}).sort()).toEqual(["cores", "memory"]);
    expect((await run(resize)).steps).toEqual(["shut-down", "start"]);
    expect(vmOf(vmid)?.pending).toEqual({});
  });

  it("without room for the disk fails before the guest was disturbed", async () => {
    const vmid = await newServer();
    const pid = pidOf(vmid);
    region.lab.faults.tasks.add({ type: "resize", action: "error", text: "not enough free space" });
    const failed = await failureOf(run(resizeJob(vmid, [4, 8192, 160])));
    expect([failed.facts.code, failed.seen]).toEqual(["region_capacity", { power_state: "on" }]);
    expect(pidOf(vmid)).toBe(pid);
    expect(vmOf(vmid)?.config.cores).toBe("2");
  });

  it("switches off a guest that does not listen: its owner has allowed a restart", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.deafGuests.add(vmid);
    expect((await run(resizeJob(vmid, [4, 8192, 80]))).observed.power_state).toBe("on");
  });

  it("survives a crash anywhere", async () => {
    await survivesACrashAnywhere(crashCases((vmid) => resizeJob(vmid, [4, 8192, 160])));
  });
});
