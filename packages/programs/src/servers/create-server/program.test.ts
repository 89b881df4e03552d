import { systemRuntime } from "@kule/proxmox/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cancelled, Failed, Released, RetryLater, StaleLease } from "../../errors.ts";
import { outcomeOfFailure } from "../../outcome.ts";
import { runProgram } from "../../run-program.ts";
import {
  createJob,
  endState,
  type LabRegion,
  quietHost,
  startLabRegion,
  stepsDone,
} from "../../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../../testing/survives-a-crash-anywhere.ts";
import { createServer } from "./program.ts";

let region: LabRegion;
let nextVmid = 20_100;
const newVmid = () => nextVmid++;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

async function create(vmid: number, host = quietHost(), job = createJob(vmid)) {
  try {
    return { observed: await runProgram(createServer, job, region.world, host), host };
  } finally {
    region.lab.faults.clear();
    region.lab.faults.tasks.clear();
  }
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("it succeeded"),
    (error: Error) => error,
  );
}

const codeOf = (error: Error) =>
  error instanceof Failed || error instanceof RetryLater ? error.facts.code : error;

describe("ServerCreate", { timeout: 60_000 }, () => {
  it("creates the requested server, with nothing left of the template", async () => {
    const vmid = newVmid();
    const { observed, host } = await create(vmid);
    expect(observed).toEqual({
      power_state: "on",
      node: "pve1",
      vmid,
      vcpu: 2,
      memory_mb: 4096,
      disk_bytes: 80 * 2 ** 30,
      addresses: ["10.20.0.5"],
    });
    expect(stepsDone(host.events)).toEqual(["pool", "clone", "resize", "firewall", "configure", "start"]);
    const vm = region.lab.control.vm(vmid);
    expect(vm?.config).toMatchObject({
      name: `web-${vmid}`,
      cores: "2",
      sockets: "1",
      memory: "4096",
      balloon: "0",
      net0: "virtio=BC:24:11:00:00:0A,bridge=vmbr1,firewall=1,tag=120",
      ipconfig0: "ip=10.20.0.5/24",
      nameserver: "9.9.9.9 1.1.1.1",
      searchdomain: "app.example",
      ciuser: "ubuntu",
      ciupgrade: "0",
      onboot: "1",
    });
    expect(vm?.config.tags?.split(";").sort()).toEqual(["kule", `org_${vmid}`, `srv_${vmid}`].sort());
    expect(vm?.guest.firstBoots).toBe(1);
    expect(vm?.drive?.user).toContain("password: $6$");
    expect(vm?.drive?.user).not.toContain("ada@example");
    expect(await endState(region, vmid)).toMatchObject({
      vm: { pool: "kule-org_99999" },
      firewall: {
        options: { enable: true, ipfilter: true, macfilter: true, policy_in: "DROP" },
        ipsets: { "ipfilter-net0": ["10.20.0.5"] },
      },
    });
  });

  it("has its firewall before it is started for the first time", async () => {
    const vmid = newVmid();
    await create(vmid);
    const ops = region.lab
      .journal()
      .filter((entry) => entry.vmid === vmid)
      .map((entry) => entry.op);
    expect(ops.indexOf("firewall-options")).toBeGreaterThan(ops.indexOf("clone-finished"));
    expect(ops.indexOf("firewall-options")).toBeLessThan(ops.indexOf("vm-started"));
    expect(ops.indexOf("config-changed")).toBeLessThan(ops.indexOf("vm-started"));
  });

  it("changes nothing when everything is there already", async () => {
    const vmid = newVmid();
    await create(vmid);
    const before = region.effects(vmid);
    const { host } = await create(vmid);
    expect(stepsDone(host.events)).toEqual([]);
    expect(region.effects(vmid)).toEqual(before);
  });

  it("removes the unwanted settings of a careless template", async () => {
    const vmid = newVmid();
    const { lab } = region;
    const before = lab.control.vm(9000)?.config ?? {};
    const careless = {
      onboot: "1",
      tags: "kule;srv_other",
      sshkeys: "ssh-ed25519%20AAAA",
      nameserver: "192.0.2.1",
      net1: "virtio=BC:24:11:00:00:99,bridge=vmbr0",
      ipconfig1: "ip=dhcp",
      cpulimit: "1",
      vcpus: "1",
    };
    lab.control.editConfig(9000, careless);
    try {
      await create(vmid, quietHost(), createJob(vmid, { ssh_public_keys: [], password_hash: null }));
    } finally {
      lab.control.editConfig(
        9000,
        { tags: before.tags ?? "" },
        Object.keys(careless).filter((key) => key !== "tags"),
      );
    }
    const { config } = lab.control.vm(vmid) ?? {};
    for (const key of ["net1", "ipconfig1", "cpulimit", "vcpus", "sshkeys", "cipassword"])
      expect(config, key).not.toHaveProperty(key);
    expect(config?.tags).not.toContain("srv_other");
  });

  it("corrects and restarts a server that was started too early", async () => {
    const vmid = newVmid();
    const died = quietHost({
      crashPoint: (name) => {
        if (name === "ServerCreate.configure.before-send") throw new Error("died");
      },
    });
    await failure(create(vmid, died));
    region.lab.control.setPower(vmid, true);
    const { host } = await create(vmid);
    expect(stepsDone(host.events)).toEqual(["power-off", "configure", "start"]);
    expect(region.lab.control.vm(vmid)?.pending).toEqual({});
  });

  it.each(["8.4", "9.0"] as const)("is the same on Proxmox VE %s", async (version) => {
    const older = await startLabRegion({}, { version });
    const vmid = 20_001;
    const observed = await runProgram(createServer, createJob(vmid), older.world, quietHost());
    expect(observed.power_state).toBe("on");
    const here = newVmid();
    await create(here);
    expect(await endState(older, vmid)).toEqual(await endState(region, here));
    await older.stop();
  });

  it("goes to the node for its VMID when the region spreads servers, as a linked clone if allowed", async () => {
    const spread = await startLabRegion({ targetNodes: ["pve2", "pve1"], fullClone: false });
    const nodes = [];
    for (const vmid of [20_000, 20_001])
      nodes.push((await runProgram(createServer, createJob(vmid), spread.world, quietHost())).node);
    expect(nodes).toEqual(["pve1", "pve2"]);
    await spread.stop();
  });

  it("survives a crash anywhere, does nothing twice, and has all its rules before its first start", async () => {
    const rule = (id: string, port: string) => ({
      ...{ id, direction: "in" as const, action: "allow" as const, protocol: "tcp" as const },
      ...{ ports: [port], side: null, addresses: ["192.0.2.1", "198.51.100.0/24"] },
    });
    const filter = { id: "flt_new", is_filtered: true, rules: [rule("fwr_1", "22"), rule("fwr_2", "443")] };
    const points = await survivesACrashAnywhere(async () => {
      const vmid = newVmid();
      return {
        run: (at) => create(vmid, quietHost({ crashPoint: at }), createJob(vmid, { filter })),
        state: async () => {
          const ops = region.lab.journal().flatMap((entry) => (entry.vmid === vmid ? [entry.op] : []));
          const late = ops.slice(ops.indexOf("vm-started")).filter((op) => op.startsWith("firewall-"));
          expect(late).toEqual([]);
          expect(ops.filter((op) => op === "firewall-rule-created").length).toBeGreaterThan(2);
          return endState(region, vmid);
        },
        effects: async () => region.effects(vmid),
      };
    });
    for (const step of ["pool", "clone", "resize", "firewall", "configure", "start"])
      for (const point of ["before-send", "effect-done", "reply-read", "ack-lost", "after-ack"])
        expect(points).toContain(`ServerCreate.${step}.${point}`);
  }, 120_000);
});

describe("A lost answer", { timeout: 60_000 }, () => {
  it.each([
    ["POST", "/qemu/9000/clone$", "clone-started"],
    ["POST", "/config$", "config-changed"],
    ["PUT", "/resize$", "disk-resized"],
    ["POST", "/status/start$", "vm-started"],
    ["PUT", "/firewall/options$", "firewall-options"],
  ])("to %s %s leads to another observation, not to the same call again", async (method, path, op) => {
    const vmid = newVmid();
    region.lab.faults.add({ method, path, action: "drop-after" });
    const before = region.calls.length;
    await create(vmid);
    const sent = region.calls
      .slice(before)
      .filter(({ call }) => call.startsWith(method) && new RegExp(path).test(call));
    expect(sent).toHaveLength(1);
    expect(region.effects(vmid)[op]).toBe(1);
    expect(region.lab.control.vm(vmid)?.process).not.toBeNull();
  });

  it("because the request never arrived sends it once, after another observation", async () => {
    for (const path of ["/qemu/9000/clone$", "/config$", "/status/start$"]) {
      const vmid = newVmid();
      region.lab.faults.add({ method: "POST", path, action: "drop-before" });
      await create(vmid);
      const {
        "clone-started": clones,
        "config-changed": changes,
        "vm-started": starts,
      } = region.effects(vmid);
      expect([clones, changes, starts]).toEqual([1, 1, 1]);
    }
  });

  it.each(["garbage", "wrong-length"] as const)("in the shape of %s is no answer either", async (action) => {
    const vmid = newVmid();
    for (const path of ["/qemu/9000/clone$", "/config$", "/status/start$"])
      region.lab.faults.add({ method: "POST", path, action });
    await create(vmid);
    const { "clone-started": clones, "config-changed": changes, "vm-started": starts } = region.effects(vmid);
    expect([clones, changes, starts]).toEqual([1, 1, 1]);
  });

  it("to a query is queried again", async () => {
    const vmid = newVmid();
    for (const nth of [1, 5, 9])
      region.lab.faults.add({
        method: "GET",
        path: "/config$|/cluster/resources$",
        action: "drop-before",
        nth,
      });
    const error = await failure(create(vmid));
    // One endpoint only: either the kept connection was renewed, or the job is retried.
    if (error instanceof RetryLater) await create(vmid);
    expect(region.effects(vmid)["clone-started"]).toBe(1);
  });

  it.each([595, 596])("by a %i is no failure", async (status) => {
    const vmid = newVmid();
    region.lab.faults.add({
      method: "POST",
      path: "/qemu/9000/clone$",
      action: "status-after",
      status,
      reason: "Connection timed out",
    });
    await create(vmid);
    expect(region.effects(vmid)["clone-started"]).toBe(1);
  });
});

describe("A server's place in the region", { timeout: 60_000 }, () => {
  it("that another VM has is never touched, and another number is requested", async () => {
    const vmid = newVmid();
    region.lab.control.stealVmid(vmid);
    const before = JSON.stringify(region.lab.control.vm(vmid));
    const error = await failure(create(vmid));
    expect(codeOf(error)).toBe("vmid_taken");
    expect(outcomeOfFailure(error)).toMatchObject({
      status: "failed",
      observed: { vmid_unusable: "taken" },
      error: { retryable: true },
    });
    expect(JSON.stringify(region.lab.control.vm(vmid))).toBe(before);
  });

  it("that is taken between the observation and the clone is not cloned over", async () => {
    const vmid = newVmid();
    region.lab.faults.add({
      method: "POST",
      path: "/qemu/9000/clone$",
      action: "world-before",
      do: "stealVmid",
      args: [vmid],
    });
    expect(codeOf(await failure(create(vmid)))).toBe("vmid_taken");
    expect(region.lab.control.vm(vmid)?.config.name).toBe(`stranger-${vmid}`);
  });

  it("that changed hands is not configured either", async () => {
    const vmid = newVmid();
    await create(vmid);
    region.lab.control.editConfig(vmid, {
      description: "kule:v1 srv=srv_other org=org_1 region=lab1 job=job_1",
      cores: "7",
    });
    expect(codeOf(await failure(create(vmid)))).toBe("vmid_taken");
    expect(region.lab.control.vm(vmid)?.config.cores).toBe("7");
  });

  it("with a clone that died is quarantined, with the cure for the operator", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({ type: "qmclone", action: "killed", stage: "disk:scsi0" });
    const error = await failure(create(vmid));
    expect(codeOf(error)).toBe("vmid_quarantined");
    expect(outcomeOfFailure(error)).toMatchObject({
      observed: { vmid_unusable: "quarantined" },
      error: { internal: expect.stringContaining(`qm unlock ${vmid}`) },
    });
  });

  it("is not in question when the VM was moved to another node in the meantime", async () => {
    const vmid = newVmid();
    region.lab.faults.add({
      method: "PUT",
      path: "/resize$",
      action: "world-before",
      do: "migrateVm",
      args: [vmid, "pve2"],
    });
    const { observed } = await create(vmid);
    expect(observed.node).toBe("pve2");
    expect(region.effects(vmid)["clone-started"]).toBe(1);
  });

  it("is kept when the config is edited between our read and our write", async () => {
    const vmid = newVmid();
    region.lab.faults.add({
      method: "POST",
      path: "/config$",
      action: "world-before",
      do: "touchConfig",
      args: [vmid],
    });
    await create(vmid);
    expect(region.effects(vmid)["config-changed"]).toBe(1);
  });
});

describe("Trouble in the region", { timeout: 60_000 }, () => {
  it("that ends a task with warnings is a success that reports them", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({ type: "qmclone", action: "warnings" });
    const { host } = await create(vmid);
    expect(host.events.some((event) => event.message?.includes("WARNINGS"))).toBe(true);
  });

  it("that says OK twice and does nothing is detected, and done a third time", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({ type: "qmstart", action: "ok-without-effect", count: 2 });
    await create(vmid);
    expect(region.lab.control.vm(vmid)?.process).not.toBeNull();
  });

  it("that says OK and does nothing is not believed", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({ type: "qmstart", action: "ok-without-effect", count: 50 });
    expect(codeOf(await failure(create(vmid)))).toBe("not_converged");
    await create(vmid);
    expect(region.lab.control.vm(vmid)?.process).not.toBeNull();
  });

  it("that a full storage is fails the job with the log, for operators only", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({
      type: "qmclone",
      action: "error",
      text: "clone failed: no space left on device",
    });
    const error = await failure(create(vmid));
    expect(codeOf(error)).toBe("region_capacity");
    expect((error as Failed).facts.internal).toContain("no space left");
    expect((error as Failed).facts.message).not.toContain("no space left");
    expect((error as Failed).step).toBe("clone");
  });

  it("that passes is tried again later, and a lost quorum changes nothing", async () => {
    const vmid = newVmid();
    region.lab.control.loseQuorum();
    const error = await failure(create(vmid));
    region.lab.control.regainQuorum();
    expect(error).toBeInstanceOf(RetryLater);
    expect(outcomeOfFailure(error)).toMatchObject({
      status: "retry",
      error: { code: "hypervisor_unavailable" },
    });
    expect(region.effects(vmid)).toEqual({});
    await create(vmid);
  });

  it("that is a refused token is no server's failure", async () => {
    const vmid = newVmid();
    region.lab.faults.add({
      action: "status-before",
      status: 401,
      reason: "Authentication failed!",
      count: 0,
    });
    expect(await failure(create(vmid))).toBeInstanceOf(RetryLater);
  });

  it("that is a password sealed to another agent's key fails before anything is created", async () => {
    const vmid = newVmid();
    const payload = {
      os_family: "windows",
      template: "windows-2022",
      default_user: "Administrator",
      sealed_password: "x",
      password_hash: null,
      ssh_public_keys: [],
    } as const;
    const openSecret = () => {
      throw new Error("sealed to another key");
    };
    const error = await failure(
      runProgram(
        createServer,
        createJob(vmid, { ...payload, ssh_public_keys: [] }),
        { ...region.world, openSecret },
        quietHost(),
      ),
    );
    expect(codeOf(error)).toBe("password_unreadable");
    expect(region.effects(vmid)).toEqual({});
  });

  it("that is a missing template fails at once and names it", async () => {
    const vmid = newVmid();
    const error = await failure(create(vmid, quietHost(), createJob(vmid, { template: "plan9" })));
    expect(codeOf(error)).toBe("template_missing");
    expect(error.message).toContain("plan9");
  });
});

describe("A task that is still running", { timeout: 60_000 }, () => {
  it("when the next run begins is waited for, and not started again", async () => {
    const slow = await startLabRegion({}, { timeScale: 0.1 }, systemRuntime);
    const vmid = 20_050;
    const died = quietHost({
      crashPoint: (name) => {
        if (name === "ServerCreate.clone.effect-done") throw new Error("died");
      },
    });
    await failure(runProgram(createServer, createJob(vmid), slow.world, died));
    expect(slow.effects(vmid)["clone-finished"]).toBeUndefined();
    const host = quietHost();
    await runProgram(createServer, createJob(vmid), slow.world, host);
    expect(stepsDone(host.events)).not.toContain("clone");
    expect(slow.effects(vmid)).toMatchObject({
      "clone-started": 1,
      "clone-finished": 1,
      "vm-started": 1,
      vms: 1,
    });
    await slow.stop();
  });

  it("after an hour is left to a retry", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({ type: "qmstart", action: "never-ends" });
    const error = await failure(create(vmid));
    expect(codeOf(error)).toBe("vm_locked");
    expect((error as RetryLater).facts.internal).toContain(":qmstart:");
  }, 60_000);

  it("although its clone is finished does not keep the rest from being done: the VM is what counts", async () => {
    const vmid = newVmid();
    region.lab.faults.tasks.add({ type: "qmclone", action: "never-ends" });
    expect((await create(vmid)).observed.power_state).toBe("on");
    expect(region.effects(vmid).vms ?? region.effects(vmid)["clone-started"]).toBe(1);
  }, 60_000);
});

describe("The lease", { timeout: 60_000 }, () => {
  it("that is nearly over is renewed before anything is sent, and a lost one ends the run unsent", async () => {
    const vmid = newVmid();
    let left = 0.1;
    let renewals = 0;
    const renewing = quietHost();
    const host = {
      ...renewing,
      lease: { remainingFraction: () => left },
      report: async () => {
        renewals += 1;
        left = 1;
      },
    };
    await create(vmid, host);
    expect(renewals).toBeGreaterThan(0);
    const lost = newVmid();
    const before = region.calls.length;
    const error = await failure(create(lost, quietHost({ lease: { remainingFraction: () => 0.1 } })));
    expect(error).toBeInstanceOf(StaleLease);
    expect(outcomeOfFailure(error)).toBeNull();
    expect(region.calls.slice(before).filter((call) => !call.call.startsWith("GET"))).toEqual([]);
  });

  it.each([
    ["taken over by another run", () => new StaleLease(), null],
    ["cancelled", () => new Cancelled(), "cancelled"],
  ])("that is %s when a step is reported ends the run before the next effect", async (_, end, outcome) => {
    const vmid = newVmid();
    const host = quietHost({
      report: async (event) => {
        if (event.name === "resize" && event.status === "succeeded") throw end();
      },
    });
    const error = await failure(create(vmid, host));
    expect(outcomeOfFailure(error)?.status ?? null).toBe(outcome);
    expect(region.effects(vmid)).toHaveProperty("disk-resized");
    expect(region.effects(vmid)).not.toHaveProperty("config-changed");
  });

  it("is released when the agent gets SIGTERM, and the next run finishes", async () => {
    const vmid = newVmid();
    const stop = new AbortController();
    const host = quietHost({
      signal: stop.signal,
      crashPoint: (name) => {
        if (name === "ServerCreate.clone.effect-done") stop.abort(new Released());
      },
    });
    const error = await failure(create(vmid, host));
    expect(outcomeOfFailure(error)).toEqual({ status: "released" });
    await create(vmid);
    expect(region.effects(vmid)["clone-started"]).toBe(1);
  });
});
