// Operations on an existing server, on the lab.

import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import { passwordFits } from "@kule/lab/console/guest-facts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Failed } from "../errors.ts";
import type { Host, Job } from "../program.ts";
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

/** The payload of a rebuild is that of a create. */
function rebuildJob(
  vmid: number,
  more: Partial<PayloadOf<"ServerCreate">> = {},
): Job<PayloadOf<"ServerRebuild">> {
  const { payload } = createJob(vmid, more);
  return { id: `job_${nextJob++}`, payload: { ...payload, kind: "ServerRebuild" } };
}

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
const bootOf = (vmid: number) => vmOf(vmid)?.process?.guestBootAt;

/** Without the note, which names a job. */
async function stateOf(vmid: number): Promise<unknown> {
  return JSON.parse(
    JSON.stringify(await endState(region, vmid))
      .replace(/kule:job job_\d+[^"\\]*/g, "")
      .replace(/ job=job_\d+/g, "")
      .replace(/"jobId":"job_\d+"/g, '"jobId":""'),
  );
}

function crashCases(newJob: (vmid: number) => Job, prepare = () => newServer()) {
  return async () => {
    const vmid = await prepare();
    const made = newJob(vmid);
    const before = region.effects(vmid);
    return {
      run: (at: NonNullable<Host["crashPoint"]>) => run(made, quietHost({ crashPoint: at })),
      state: async () => {
        return stateOf(vmid);
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

  it("has rebooted when the guest runs and was noted to be off, once for each job", async () => {
    const vmid = await newServer();
    const first = pidOf(vmid);
    const reboot = powerJob(vmid, "reboot");
    expect((await run(reboot)).steps).toEqual(["shut-down", "note", "start"]);
    const second = pidOf(vmid);
    expect(second).not.toBe(first);
    // The same job again, its end never reported: it sees its note, and that the guest runs.
    expect((await run(reboot)).steps).toEqual([]);
    expect(pidOf(vmid)).toBe(second);
    await run(powerJob(vmid, "reboot"));
    expect(pidOf(vmid)).not.toBe(second);
  });

  it("has reset when a reset followed the last one it recorded, in the same process", async () => {
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

  it("has reset when the reset ended with warnings, and resets no second time", async () => {
    const vmid = await newServer();
    const reset = powerJob(vmid, "reset");
    region.lab.faults.tasks.add({ type: "qmreset", action: "warnings", count: 5 });
    expect((await run(reset)).steps).toEqual(["note", "reset"]);
    expect((await run(reset)).steps).toEqual([]);
    expect(region.effects(vmid)["vm-reset"]).toBe(1);
    region.lab.faults.tasks.clear();
  });

  it("leaves a guest that ignores the request running and reports it, or powers it off when that is allowed", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.unresponsiveGuests.add(vmid);
    const failed = await failureOf(run(powerJob(vmid, "shutdown")));
    expect([failed.facts.code, failed.seen]).toEqual(["guest_ignored", { power_state: "on" }]);
    expect((await run(powerJob(vmid, "reboot", true))).observed.power_state).toBe("on");
    expect((await run(powerJob(vmid, "shutdown", true))).observed.power_state).toBe("off");
  });

  it("supersedes our own shutdown, which still waits for the guest", async () => {
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

  it("fails for a server whose VM is missing, and for a reset of one that has stopped", async () => {
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
      jobId: "job_test",
      beforeCall: async () => {},
      afterObservation: async () => {},
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

  it("reboots a guest that moves to another node between the observation and the shutdown", async () => {
    const vmid = await newServer();
    const before = bootOf(vmid);
    const elsewhere = vmOf(vmid)?.node === "pve1" ? "pve2" : "pve1";
    let hasMoved = false;
    const crashPoint = (at: string) => {
      if (at !== "ServerPower.shut-down.before-send" || hasMoved) return;
      hasMoved = true;
      region.lab.control.migrateVm(vmid, elsewhere);
    };
    await run(powerJob(vmid, "reboot"), quietHost({ crashPoint }));
    expect(hasMoved).toBe(true);
    expect(bootOf(vmid)).not.toBe(before);
  });

  it.each([
    ["note.after-ack", true],
    ["note.effect-done", true],
    ["shut-down.before-send", true],
    ["shut-down.before-send", false],
  ])(
    "does not take a move to another node and back for a reboot, at %s, killed %s",
    async (point, isKilled) => {
      const vmid = await newServer();
      const before = bootOf(vmid);
      const home = vmOf(vmid)?.node ?? "";
      let hasMoved = false;
      const crashPoint = (at: string) => {
        if (at !== `ServerPower.${point}` || hasMoved) return;
        hasMoved = true;
        region.lab.control.migrateVm(vmid, home === "pve1" ? "pve2" : "pve1");
        region.lab.control.migrateVm(vmid, home);
        if (isKilled) throw new Error("killed");
      };
      const reboot = powerJob(vmid, "reboot");
      const first = run(reboot, quietHost({ crashPoint }));
      if (isKilled) await expect(first).rejects.toThrow("killed");
      else await first;
      await run(reboot);
      expect(hasMoved).toBe(true);
      expect(bootOf(vmid)).not.toBe(before);
    },
  );

  it.each([
    "shut-down.effect-done",
    "shut-down.after-ack",
    "start.before-send",
    "start.effect-done",
    "start.after-ack",
  ])("reboots once when its agent dies at %s", async (point) => {
    const vmid = await newServer();
    let hasDied = false;
    const crashPoint = (at: string) => {
      if (at !== `ServerPower.${point}` || hasDied) return;
      hasDied = true;
      throw new Error("killed");
    };
    const reboot = powerJob(vmid, "reboot");
    const starts = () => region.effects(vmid)["vm-started"] ?? 0;
    const before = starts();
    await expect(run(reboot, quietHost({ crashPoint }))).rejects.toThrow("killed");
    await run(reboot);
    expect(starts() - before).toBe(1);
  });

  it("never starts a VM that a rebuild has left incomplete: it has the template's interfaces", async () => {
    const vmid = await newServer();
    const crashPoint = (at: string) => {
      if (at === "ServerRebuild.firewall.before-send") throw new Error("killed");
    };
    await expect(run(rebuildJob(vmid), quietHost({ crashPoint }))).rejects.toThrow("killed");
    expect(vmOf(vmid)?.process).toBeNull();
    for (const job of [powerJob(vmid, "start"), jobOf("ServerRestore", vmid, true)])
      expect((await failureOf(run(job))).facts.code).toBe("vm_incomplete");
    expect(vmOf(vmid)?.process).toBeNull();
    await run(rebuildJob(vmid));
    expect(vmOf(vmid)?.process).not.toBeNull();
  });

  it("never reports a VM that a rebuild has left incomplete as stopped, and switches it off if it was started manually", async () => {
    const vmid = await newServer();
    const crashPoint = (at: string) => {
      if (at === "ServerRebuild.firewall.before-send") throw new Error("killed");
    };
    await expect(run(rebuildJob(vmid), quietHost({ crashPoint }))).rejects.toThrow("killed");
    for (const action of ["stop", "shutdown", "reboot"] as const)
      expect((await failureOf(run(powerJob(vmid, action)))).facts.code, action).toBe("vm_incomplete");
    for (const [action, isOnAfter] of [
      ["reboot", true],
      ["stop", false],
    ] as const) {
      region.lab.control.setPower(vmid, true);
      const before = pidOf(vmid);
      const failed = await failureOf(run(powerJob(vmid, action)));
      expect(failed.facts.code, action).toBe("vm_incomplete");
      expect(pidOf(vmid), action).toBe(isOnAfter ? before : undefined);
    }
    await run(rebuildJob(vmid));
    expect(pidOf(vmid)).toBeDefined();
  });

  it("removes the deletion mark from a wanted server whose restore has failed", async () => {
    for (const action of ["start", "shutdown", "stop"] as const) {
      const vmid = await newServer();
      await run(jobOf("ServerStop", vmid));
      expect(vmOf(vmid)?.config.tags).toContain("kule-removing");
      expect((await run(powerJob(vmid, action))).steps).toEqual(
        action === "start" ? ["unmark", "start"] : ["unmark"],
      );
      expect(vmOf(vmid)?.config.tags).not.toContain("kule-removing");
      expect(vmOf(vmid)?.config).toMatchObject({ onboot: "1", protection: "1" });
      expect((await run(powerJob(vmid, action))).steps).toEqual([]);
    }
  });

  it("survives a crash anywhere when it finds the mark of a removal", async () => {
    const marked = async () => {
      const vmid = await newServer();
      await run(jobOf("ServerStop", vmid));
      return vmid;
    };
    await survivesACrashAnywhere(crashCases((vmid) => powerJob(vmid, "start"), marked));
  });

  it("unmarks an incomplete machine as well, which does not start with its node for that", async () => {
    const halfMade = async () => {
      const vmid = await newServer();
      const crashPoint = (at: string) => {
        if (at === "ServerRebuild.firewall.before-send") throw new Error("killed");
      };
      await expect(run(rebuildJob(vmid), quietHost({ crashPoint }))).rejects.toThrow("killed");
      await run(jobOf("ServerStop", vmid));
      expect(vmOf(vmid)?.config.tags).toContain("kule-removing");
      return vmid;
    };
    const restored = await halfMade();
    expect((await failureOf(run(jobOf("ServerRestore", restored, true)))).facts.code).toBe("vm_incomplete");
    const stopped = await halfMade();
    expect((await failureOf(run(powerJob(stopped, "stop")))).facts.code).toBe("vm_incomplete");
    for (const vmid of [restored, stopped]) {
      expect(vmOf(vmid)?.process).toBeNull();
      expect(vmOf(vmid)?.config.tags ?? "").not.toContain("kule-removing");
      expect(vmOf(vmid)?.config).not.toHaveProperty("onboot");
    }
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
  it("applies CPU and memory with a restart, and grows the disk to the requested size and not by it", async () => {
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

  it("does not change the disk for a smaller package, and leaves a stopped server stopped", async () => {
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

  it("completes a change that an earlier run left pending", async () => {
    const vmid = await newServer();
    const resize = resizeJob(vmid, [4, 8192, 80]);
    const { world } = region;
    await world.hypervisor.configure(
      vmid,
      { serverId: `srv_${vmid}`, region: world.settings.region },
      { desired: { cores: "4", memory: "8192" }, rewriteSecrets: false },
      {
        jobId: "job_test",
        beforeCall: async () => {},
        afterObservation: async () => {},
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

  it("without space for the disk fails before the guest was disturbed", async () => {
    const vmid = await newServer();
    const pid = pidOf(vmid);
    region.lab.faults.tasks.add({ type: "resize", action: "error", text: "not enough free space" });
    const failed = await failureOf(run(resizeJob(vmid, [4, 8192, 160])));
    expect(failed.facts.code).toBe("region_capacity");
    // The disk is reported as well: one that had grown before the failure is kept and has to be counted.
    expect(failed.seen).toEqual({ power_state: "on", disk_bytes: 80 * 1024 ** 3 });
    expect(pidOf(vmid)).toBe(pid);
    expect(vmOf(vmid)?.config.cores).toBe("2");
  });

  it("switches off a guest that does not listen: its owner has allowed a restart", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.unresponsiveGuests.add(vmid);
    expect((await run(resizeJob(vmid, [4, 8192, 80]))).observed.power_state).toBe("on");
  });

  it("that fails after the disk has grown reports the disk's size", async () => {
    const vmid = await newServer();
    region.lab.faults.add({
      method: "POST",
      path: "/config$",
      action: "status-before",
      status: 403,
      count: 0,
    });
    region.lab.faults.add({
      method: "PUT",
      path: "/config$",
      action: "status-before",
      status: 403,
      count: 0,
    });
    const failed = await failureOf(run(resizeJob(vmid, [4, 8192, 160])));
    expect(failed.facts.code).toBe("hypervisor_forbidden");
    expect(failed.seen).toEqual({ power_state: "on", disk_bytes: 160 * 2 ** 30 });
  });

  it("survives a crash anywhere", async () => {
    await survivesACrashAnywhere(crashCases((vmid) => resizeJob(vmid, [4, 8192, 160])));
  });
});

describe("ServerRebuild", { timeout: 600_000 }, () => {
  it("replaces the VM by one of another image, with its number, MAC, address and disk size", async () => {
    const vmid = await newServer();
    const before = vmOf(vmid);
    const { observed, steps } = await run(rebuildJob(vmid));
    expect(steps).toEqual([
      "turn-off",
      "unprotect",
      "destroy",
      "clone",
      "resize",
      "firewall",
      "configure",
      "start",
    ]);
    expect(observed).toMatchObject({ power_state: "on", vmid, disk_bytes: 80 * 2 ** 30 });
    const after = vmOf(vmid);
    expect(after?.config.vmgenid).not.toBe(before?.config.vmgenid);
    expect(after?.config.net0?.toLowerCase()).toBe(before?.config.net0?.toLowerCase());
    expect(after?.config.ipconfig0).toBe(before?.config.ipconfig0);
    expect(region.lab.control.volumes(vmid)).toHaveLength(2);
  });

  it("does not rebuild again what it has rebuilt", async () => {
    const vmid = await newServer();
    const job = rebuildJob(vmid);
    await run(job);
    expect((await run(job)).steps).toEqual([]);
    expect(region.effects(vmid)["vm-destroyed"]).toBe(1);
  });

  it("leaves a VM that a late copy of its DELETE cannot destroy", async () => {
    const vmid = await newServer();
    await run(rebuildJob(vmid));
    region.lab.control.setPower(vmid, false);
    const late = { node: vmOf(vmid)?.node ?? "", vmid, purge: true, "destroy-unreferenced-disks": true };
    await expect(region.client.call("DELETE /nodes/{node}/qemu/{vmid}", late)).rejects.toThrow(
      /protection mode enabled/,
    );
    expect(region.effects(vmid)["vm-destroyed"]).toBe(1);
  });

  it("destroys nothing without an image to recreate it from", async () => {
    const vmid = await newServer();
    const failed = await failureOf(run(rebuildJob(vmid, { template: "plan9" })));
    expect(failed.facts.code).toBe("template_missing");
    const { world } = region;
    const templates = { ...world.settings.templates, ghost: { vmid: 8999 } };
    const haunted = { ...world, settings: { ...world.settings, templates } };
    const gone = await failureOf(runJob(rebuildJob(vmid, { template: "ghost" }), haunted, quietHost()));
    expect(gone.facts.code).toBe("template_missing");
    expect(vmOf(vmid)?.process).not.toBeNull();
  });

  it("never touches a VM whose marker is not the server's", async () => {
    const vmid = await newServer();
    region.lab.control.editConfig(vmid, { description: "somebody else's" });
    const failed = await failureOf(run(rebuildJob(vmid)));
    expect([failed.facts.code, failed.vmidUnusable]).toEqual(["vm_not_ours", null]);
    expect(vmOf(vmid)?.process).not.toBeNull();
  });

  it("resumed before its destroy, leaves alone the VM that its successor has created", async () => {
    const vmid = await newServer();
    const job = rebuildJob(vmid);
    const { hypervisor, settings } = region.world;
    let isDone = false;
    const asleep = {
      jobId: job.id,
      afterObservation: async () => {},
      beforeCall: async () => {
        if (isDone) return;
        isDone = true;
        await run(job);
        await run(powerJob(vmid, "stop"));
      },
      answered: async () => {},
      taskStarted: async () => {},
      stillRunning: async () => {},
      note: () => {},
    };
    const owner = { serverId: `srv_${vmid}`, region: settings.region };
    await hypervisor.destroy(vmid, owner, asleep, job.id);
    expect(vmOf(vmid)).toBeDefined();
    expect(region.effects(vmid)["vm-destroyed"]).toBe(1);
  });

  it("survives a crash anywhere", async () => {
    await survivesACrashAnywhere(crashCases((vmid) => rebuildJob(vmid)));
  });
});

describe("ServerPasswordReset", { timeout: 600_000 }, () => {
  const resetJob = (vmid: number, more: object = {}) =>
    job("ServerPasswordReset", vmid, {
      os_family: "linux",
      username: "ubuntu",
      when: "now",
      password_hash: "$6$rounds=1000$salt$hash",
      sealed_password: null,
      ...more,
    } as never);

  it("sets a hash in the guest, once", async () => {
    const vmid = await newServer();
    const reset = resetJob(vmid);
    expect((await run(reset)).steps).toEqual(["tell-guest", "note"]);
    expect(vmOf(vmid)?.guest.passwords.ubuntu).toMatchObject({ crypted: true });
    expect((await run(reset)).steps).toEqual([]);
  });

  it("fails with its own code when the guest agent does not answer, or does not exist", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.agentless.add(vmid);
    const deaf = await failureOf(run(resetJob(vmid)));
    expect([deaf.facts.code, deaf.step]).toEqual(["guest_agent_unavailable", "tell-guest"]);
    const stopped = await newServer(false);
    expect((await failureOf(run(resetJob(stopped)))).facts.code).toBe("guest_agent_unavailable");
  });

  it("for the next start is written where cloud-init finds it, in one call with its note", async () => {
    const vmid = await newServer();
    expect((await run(resetJob(vmid, { when: "next_boot" }))).steps).toEqual(["write"]);
    await run(powerJob(vmid, "reboot"));
    expect(vmOf(vmid)?.drive?.user).toContain("password: $6$rounds=1000$salt$hash");
    expect(vmOf(vmid)?.guest.firstBoots).toBe(2);
  });

  it("opens what was sealed for a Windows guest, for this server only", async () => {
    const vmid = nextVmid++;
    const windows = {
      template: "windows-2022",
      os_family: "windows",
      default_user: "Administrator",
    } as const;
    await runJob(
      createJob(vmid, { ...windows, ssh_public_keys: [], password_hash: null, sealed_password: "sealed" }),
      region.world,
      quietHost(),
    );
    await run(
      resetJob(vmid, {
        os_family: "windows",
        username: "Administrator",
        password_hash: null,
        sealed_password: "another",
      }),
    );
    const vm = vmOf(vmid);
    if (vm === undefined) throw new Error("no VM");
    expect(passwordFits(vm, "Administrator", `opened another for srv_${vmid}`)).toBe(true);
    expect(vm.config).not.toHaveProperty("cipassword");
  });

  it("survives a crash anywhere", async () => {
    // The same password again is the same password: only how often it was set in the guest may differ.
    await survivesACrashAnywhere(async () => {
      const made = await crashCases((vmid) => resetJob(vmid))();
      return { ...made, effects: async () => ({ ...(await made.effects()), "guest-password-set": 1 }) };
    });
  });
});

describe("ServerUpdate", { timeout: 600_000 }, () => {
  const renameJob = (vmid: number, name: string) => {
    const made = job("ServerUpdate", vmid, { os_family: "linux" } as never);
    return { ...made, payload: { ...made.payload, server: { ...made.payload.server, name } } };
  };

  it("renames the VM and its guest, if the agent answers", async () => {
    const vmid = await newServer();
    const rename = renameJob(vmid, "db-1");
    expect((await run(rename)).steps).toEqual(["rename", "tell-guest"]);
    expect(vmOf(vmid)).toMatchObject({ config: { name: "db-1" }, guest: { hostname: "db-1" } });
    expect((await run(rename)).steps).toEqual([]);
  });

  it("leaves a guest that does not answer, or is off, to its next start", async () => {
    const vmid = await newServer();
    region.lab.faults.tasks.agentless.add(vmid);
    expect((await run(renameJob(vmid, "db-2"))).steps).toEqual(["rename"]);
    region.lab.faults.tasks.agentless.clear();
    expect(vmOf(vmid)?.guest.hostname).toBe(`web-${vmid}`);
    await run(powerJob(vmid, "reboot"));
    expect(vmOf(vmid)?.guest.hostname).toBe("db-2");
  });

  it("survives a crash anywhere", async () => {
    await survivesACrashAnywhere(crashCases((vmid) => renameJob(vmid, "db-3")));
  });
});
