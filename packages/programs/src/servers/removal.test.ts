// The removal buffer and its two ways out, on one server's life: ServerStop, ServerRestore, ServerDestroy.

import type { JobKind } from "@kule/contract/schemas";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Failed } from "../errors.ts";
import type { Host } from "../program.ts";
import { runJob } from "../registry.ts";
import {
  createJob,
  endState,
  jobOf,
  type LabRegion,
  quietHost,
  startLabRegion,
  stepsDone,
} from "../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";

let region: LabRegion;
let nextVmid = 21_000;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

async function newServer(start = true): Promise<number> {
  const vmid = nextVmid++;
  await runJob(createJob(vmid, { start }), region.world, quietHost());
  return vmid;
}

type Removal = Exclude<JobKind, "ServerCreate">;
function job(kind: Removal, vmid: number, start = true) {
  return kind === "ServerRestore" ? jobOf(kind, vmid, start) : jobOf(kind as "ServerStop", vmid);
}

async function run(kind: Removal, vmid: number, host = quietHost(), start = true) {
  try {
    const observed = await runJob(job(kind, vmid, start), region.world, host);
    return { observed, steps: stepsDone(host.events), host };
  } finally {
    region.lab.faults.clear();
    region.lab.faults.tasks.clear();
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof Failed ? error.facts.code : String(error);
}

const configOf = (vmid: number) => region.lab.control.vm(vmid)?.config;
const on = (vmid: number) => region.lab.control.vm(vmid)?.process !== null;

function crashCases(kind: Removal, prepare: () => Promise<number>) {
  return async () => {
    const vmid = await prepare();
    const before = region.effects(vmid);
    return {
      run: (at: NonNullable<Host["crashPoint"]>) => run(kind, vmid, quietHost({ crashPoint: at })),
      state: () => endState(region, vmid),
      effects: async () => {
        const after = region.effects(vmid);
        return Object.fromEntries(
          Object.entries(after).map(([op, count]) => [op, count - (before[op] ?? 0)]),
        );
      },
    };
  };
}

async function buffered(): Promise<number> {
  const vmid = await newServer();
  await run("ServerStop", vmid);
  return vmid;
}

describe("ServerStop", { timeout: 60_000 }, () => {
  it("puts a server into the removal buffer: off, protected, not started with its node, disks kept", async () => {
    const vmid = await newServer();
    const volumes = region.lab.control.volumes(vmid);
    const { observed, steps } = await run("ServerStop", vmid);
    expect(observed).toMatchObject({ power_state: "off" });
    expect(steps).toEqual(["protect", "shut-down"]);
    expect(on(vmid)).toBe(false);
    expect(configOf(vmid)).toMatchObject({ protection: "1" });
    expect(configOf(vmid)).not.toHaveProperty("onboot");
    expect(configOf(vmid)?.tags).toContain("kule-removing");
    expect(region.lab.control.volumes(vmid)).toEqual(volumes);
    expect((await run("ServerStop", vmid)).steps).toEqual([]);
  });

  it("switches off a guest that does not listen", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.unresponsiveGuests.add(vmid);
    await run("ServerStop", vmid);
    expect(on(vmid)).toBe(false);
  });

  it("has nothing to do for a server whose creation never got to a VM", async () => {
    expect((await run("ServerStop", nextVmid++)).observed).toEqual({ power_state: "off" });
  });

  it("survives a crash anywhere, and does nothing twice", async () => {
    expect(await survivesACrashAnywhere(crashCases("ServerStop", () => newServer()))).toContain(
      "ServerStop.shut-down.effect-done",
    );
  }, 120_000);
});

describe("ServerRestore", { timeout: 60_000 }, () => {
  it("undoes the removal buffer, and starts what ran before", async () => {
    const vmid = await newServer();
    const before = await endState(region, vmid);
    await run("ServerStop", vmid);
    const { observed } = await run("ServerRestore", vmid);
    expect(observed.power_state).toBe("on");
    // Which job has changed the VM last is all that is left of it.
    const unnoted = (state: unknown) =>
      JSON.parse(JSON.stringify(state).replaceAll(/\\nkule:job [^"\\]*/g, ""));
    expect(unnoted(await endState(region, vmid))).toEqual(unnoted(before));
  });

  it("leaves off what was off before", async () => {
    const vmid = await newServer(false);
    await run("ServerStop", vmid);
    expect((await run("ServerRestore", vmid, quietHost(), false)).observed.power_state).toBe("off");
    expect(configOf(vmid)?.tags).not.toContain("kule-removing");
  });

  it("fails when there is nothing left to restore", async () => {
    expect(await codeOf(run("ServerRestore", nextVmid++))).toBe("vm_missing");
  });

  it("survives a crash anywhere, and does nothing twice", async () => {
    expect(await survivesACrashAnywhere(crashCases("ServerRestore", buffered))).toContain(
      "ServerRestore.start.reply-read",
    );
  }, 120_000);
});

describe("ServerDestroy", { timeout: 60_000 }, () => {
  it("removes the VM and every volume of it, and reports from where on it is too late", async () => {
    const vmid = await buffered();
    const { steps, host } = await run("ServerDestroy", vmid);
    expect(steps).toEqual(["unprotect", "destroy"]);
    expect(region.lab.control.vm(vmid)).toBeUndefined();
    expect(region.lab.control.volumes(vmid)).toEqual([]);
    expect(host.events.find((event) => event.name === "unprotect")?.irreversible).toBe(false);
    expect(host.events.find((event) => event.name === "destroy")?.irreversible).toBe(true);
  });

  it("switches off what runs again by then", async () => {
    const vmid = await buffered();
    region.lab.control.setPower(vmid, true);
    expect((await run("ServerDestroy", vmid)).steps).toEqual(["unprotect", "power-off", "destroy"]);
  });

  it("is done when no node has the VM", async () => {
    expect((await run("ServerDestroy", nextVmid++)).steps).toEqual([]);
  });

  it("never touches a VM that is not the server's", async () => {
    const taken = nextVmid++;
    region.lab.control.stealVmid(taken);
    const renamed = await newServer();
    region.lab.control.editConfig(renamed, { description: "my own VM now" });
    for (const vmid of [taken, renamed]) {
      const before = JSON.stringify(region.lab.control.vm(vmid));
      expect(await codeOf(run("ServerDestroy", vmid))).toBe("vm_not_ours");
      expect(JSON.stringify(region.lab.control.vm(vmid))).toBe(before);
    }
  });

  it("does not destroy a VM whose marker changes between the observation and the call", async () => {
    const vmid = await buffered();
    const description = "kule:v1 srv=srv_other org=org_1 region=lab1 job=job_1";
    region.lab.faults.add({
      method: "POST",
      path: "/config$",
      action: "world-after",
      do: "editConfig",
      args: [vmid, { description }],
    });
    expect(await codeOf(run("ServerDestroy", vmid))).toBe("vm_not_ours");
    expect(region.lab.control.vm(vmid)).toBeDefined();
  });

  it("does not mistake a VM that the token may not see for a missing one", async () => {
    const other = await startLabRegion();
    const vmid = 21_999;
    other.lab.control.stealVmid(vmid);
    other.lab.control.restrictAgentToPool("elsewhere");
    expect(await codeOf(runJob(jobOf("ServerDestroy", vmid), other.world, quietHost()))).toBe("vm_not_ours");
    expect(other.lab.control.vm(vmid)).toBeDefined();
    await other.stop();
  });

  it("reports volumes that could not be freed to operators", async () => {
    const vmid = await buffered();
    const volumes = region.lab.control.volumes(vmid);
    for (const volume of volumes) region.lab.faults.tasks.stuckVolumes.add(volume);
    const failed = await run("ServerDestroy", vmid).catch((error: unknown) => error);
    expect((failed as Failed).facts.code).toBe("volumes_left");
    expect(volumes.length).toBeGreaterThan(1);
    for (const volume of volumes)
      expect((failed as Failed).facts.internal).toMatch(
        new RegExp(`^on node pve\\d: pvesm free ${volume} `, "m"),
      );
  });

  it("does not send the deletion again when its answer was lost", async () => {
    const vmid = await buffered();
    region.lab.faults.add({ method: "DELETE", path: `/qemu/${vmid}$`, action: "drop-after" });
    const before = region.calls.length;
    await run("ServerDestroy", vmid);
    expect(region.calls.slice(before).filter(({ call }) => call.startsWith("DELETE"))).toHaveLength(1);
    expect(region.lab.control.vm(vmid)).toBeUndefined();
  });

  it("survives a crash anywhere, and does nothing twice", async () => {
    expect(await survivesACrashAnywhere(crashCases("ServerDestroy", buffered))).toContain(
      "ServerDestroy.destroy.effect-done",
    );
  }, 120_000);
});
