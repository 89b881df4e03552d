import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "@kule/lab/api-client";
import { type Lab, startLab } from "@kule/lab/lab";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProxmoxClient } from "./client.ts";
import {
  ProxmoxConflict,
  ProxmoxLocked,
  ProxmoxNotFound,
  ProxmoxNotOurs,
  ProxmoxProtected,
  ProxmoxRunning,
} from "./errors.ts";
import type { EffectContext } from "./hypervisor.ts";
import { renderMarker } from "./marker.ts";
import { type PreflightSettings, preflight } from "./preflight.ts";
import { ProxmoxHypervisor } from "./proxmox-hypervisor.ts";
import { virtualRuntime } from "./testing/virtual-runtime.ts";
import type { DesiredFirewall } from "./vm-firewall.ts";
import { isRuleNote, textOfRule } from "./vm-firewall-rule.ts";

let directory: string;
let lab: Lab;
let client: ProxmoxClient;
let hypervisor: ProxmoxHypervisor;
const calls: string[] = [];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-hypervisor-"));
  lab = await startLab({ dataDir: directory });
  client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: [lab.fingerprint256] },
    onCall: (record) => calls.push(record.call),
  });
  hypervisor = new ProxmoxHypervisor(client, virtualRuntime());
});
afterAll(async () => {
  client.close();
  await lab.stop();
  rmSync(directory, { recursive: true });
});

/** Records the driver's calls of the job. */
function effect(changes: Partial<EffectContext> = {}): EffectContext & { readonly told: string[] } {
  const told: string[] = [];
  return {
    told,
    jobId: "job_test",
    afterObservation: async () => {},
    beforeCall: async () => void told.push("before"),
    answered: async () => void told.push("answered"),
    taskStarted: async (upid) => void told.push(upid.split(":")[5] ?? ""),
    stillRunning: async () => {},
    note: (text) => void told.push(text),
    ...changes,
  };
}

const ownerOf = (vmid: number) => ({ serverId: `srv_${vmid}`, region: "lab1" });
const template = { vmid: 9000, node: "pve1" };
let nextVmid = 22_000;

async function newVm(): Promise<number> {
  const vmid = nextVmid++;
  await hypervisor.ensurePool("kule-org_1", "first", effect());
  const marker = { serverId: `srv_${vmid}`, organisationId: "org_1", region: "lab1", jobId: "job_1" };
  await hypervisor.clone(
    {
      template,
      vmid,
      name: `vm-${vmid}`,
      description: renderMarker(marker),
      pool: "kule-org_1",
      storage: "ceph-vm",
      full: true,
    },
    effect(),
  );
  return vmid;
}

describe("The driver", () => {
  it("distinguishes no VM, a foreign one, and ours", async () => {
    const vmid = await newVm();
    expect(await hypervisor.findVm(vmid, ownerOf(vmid))).toMatchObject({
      state: "present",
      vm: { vmid, node: "pve1", power: "stopped", pool: "kule-org_1", pendingKeys: [] },
    });
    expect(await hypervisor.findVm(vmid, { serverId: "srv_other", region: "lab1" })).toMatchObject({
      state: "foreign",
    });
    expect(await hypervisor.findVm(vmid, { ...ownerOf(vmid), region: "elsewhere" })).toMatchObject({
      state: "foreign",
    });
    expect(await hypervisor.findVm(29_999, ownerOf(29_999))).toEqual({ state: "absent" });
    expect(await hypervisor.findVm(9000, ownerOf(9000))).toMatchObject({
      state: "foreign",
      why: expect.stringContaining("template"),
    });
  });

  it("takes a concurrent change during its observation for one that waits for a start", async () => {
    const vmid = await newVm();
    await hypervisor.start(vmid, ownerOf(vmid), effect());
    const { config } = (
      (await hypervisor.findVm(vmid, ownerOf(vmid))) as { vm: { config: { cores?: string } } }
    ).vm;
    let changes = 0;
    const tampering = new Proxy(client, {
      get: (target, key) =>
        key !== "call"
          ? Reflect.get(target, key)
          : async (...call: Parameters<typeof client.call>) => {
              const answer = await target.call(...call);
              // Between the first answer about the VM itself and the next one.
              if (/\/qemu\/\{vmid\}\/(config|pending)$/.test(call[0]) && changes++ === 0)
                await run(lab, `PUT /nodes/pve1/qemu/${vmid}/config`, { form: { cores: 7 } });
              return answer;
            },
    });
    const seen = await new ProxmoxHypervisor(tampering, virtualRuntime()).findVm(vmid, ownerOf(vmid));
    expect(changes).toBeGreaterThan(0);
    expect(seen).toMatchObject({
      state: "present",
      vm: { power: "running", config: { cores: config.cores }, pendingKeys: ["cores"] },
    });
  });

  it("follows a VM to the node it was moved to", async () => {
    const vmid = await newVm();
    lab.control.migrateVm(vmid, "pve2");
    await hypervisor.start(vmid, ownerOf(vmid), effect());
    expect(await hypervisor.findVm(vmid, ownerOf(vmid))).toMatchObject({
      vm: { node: "pve2", power: "running" },
    });
  });

  it("checks the lease before each change, and reports the task before it waits for it", async () => {
    const vmid = await newVm();
    const said = effect();
    await hypervisor.start(vmid, ownerOf(vmid), said);
    expect(said.told).toEqual(["before", "answered", "qmstart"]);
  });

  it("sends nothing when the job may not continue", async () => {
    const vmid = await newVm();
    const before = calls.length;
    const refusing = effect({ beforeCall: async () => Promise.reject(new Error("lease lost")) });
    await expect(hypervisor.start(vmid, ownerOf(vmid), refusing)).rejects.toThrow("lease lost");
    await expect(hypervisor.destroy(vmid, ownerOf(vmid), refusing)).rejects.toThrow("lease lost");
    expect(calls.slice(before).filter((call) => !call.startsWith("GET"))).toEqual([]);
  });

  it("sends nothing when the lease has expired during another observation", async () => {
    const vmid = await newVm();
    const before = calls.length;
    const refusing = effect({ afterObservation: async () => Promise.reject(new Error("lease lost")) });
    const owner = ownerOf(vmid);
    await expect(hypervisor.start(vmid, owner, refusing)).rejects.toThrow("lease lost");
    await expect(hypervisor.stop(vmid, owner, refusing)).rejects.toThrow("lease lost");
    await expect(hypervisor.reset(vmid, owner, null, refusing)).rejects.toThrow("lease lost");
    await expect(hypervisor.destroy(vmid, owner, refusing)).rejects.toThrow("lease lost");
    expect(calls.slice(before).filter((call) => !call.startsWith("GET"))).toEqual([]);
  });

  it("never restores an earlier config: a late copy of an earlier change is refused", async () => {
    const vmid = await newVm();
    const configure = (jobId: string, cores: string) =>
      hypervisor.configure(
        vmid,
        ownerOf(vmid),
        { desired: { cores }, rewriteSecrets: false },
        effect({ jobId }),
      );
    await configure("job_1", "2");
    const { digest } = await client.call("GET /nodes/{node}/qemu/{vmid}/config", { node: "pve1", vmid });
    await configure("job_2", "4");
    await configure("job_3", "2");
    expect(digest).toBeDefined();
    const late = { node: "pve1", vmid, cores: "4", digest: digest ?? "" };
    await expect(client.call("POST /nodes/{node}/qemu/{vmid}/config", late)).rejects.toThrow(/checksum/);
    expect(lab.control.vm(vmid)?.config.cores).toBe("2");
  });

  it("changes nothing of a VM whose marker names another server, for any job", async () => {
    const vmid = await newVm();
    const other = { serverId: "srv_other", region: "lab1" };
    const { options } = await hypervisor.readFirewall(await present(vmid));
    const firewall = { options, ipsets: {}, rules: [] };
    const before = JSON.stringify(lab.control.vm(vmid));
    const asked = [
      () => hypervisor.configure(vmid, other, { desired: { cores: "7" }, rewriteSecrets: false }, effect()),
      () => hypervisor.resizeDisk(vmid, other, "scsi0", 2 ** 40, effect()),
      () => hypervisor.setFirewall(vmid, other, firewall, effect()),
      () => hypervisor.start(vmid, other, effect()),
      () => hypervisor.stop(vmid, other, effect()),
      () => hypervisor.shutdown(vmid, other, { timeoutSeconds: 1, force: true }, effect()),
      () => hypervisor.destroy(vmid, other, effect()),
    ];
    for (const ask of asked) await expect(ask()).rejects.toBeInstanceOf(ProxmoxNotOurs);
    expect(JSON.stringify(lab.control.vm(vmid))).toBe(before);
    await expect(hypervisor.start(29_999, ownerOf(29_999), effect())).rejects.toBeInstanceOf(ProxmoxNotFound);
  });

  it("has the rules of a firewall in their order, on, and no others", async () => {
    const vmid = await newVm();
    const rule = (comment: string, more: object = {}) =>
      ({ type: "in", action: "ACCEPT", proto: "tcp", dport: "22,8000:8100", comment, ...more }) as const;
    const { options } = await hypervisor.readFirewall(await present(vmid));
    const set = (rules: readonly ReturnType<typeof rule>[], ipsets: Record<string, string[]> = {}) =>
      hypervisor.setFirewall(
        vmid,
        ownerOf(vmid),
        { options: { ...options, enable: true }, ipsets, rules },
        effect(),
      );
    const listed = async () =>
      (await hypervisor.readFirewall(await present(vmid))).rules.filter((rule) => !isRuleNote(rule));
    const first = [
      rule("fwr_1", { source: "10.0.0.0/24" }),
      rule("fwr_2", { source: "+kule-a", iface: "net0" }),
    ];
    await set(first, { "kule-a": ["10.0.0.1", "10.0.0.2"] });
    expect(await listed()).toEqual(first.map((each) => ({ text: textOfRule(each), isEnabled: true })));
    const second = [rule("fwr_0"), first[0] ?? rule(""), rule("fwr_3", { type: "out", action: "DROP" })];
    await set(second);
    expect(await listed()).toEqual(second.map((each) => ({ text: textOfRule(each), isEnabled: true })));
    expect((await hypervisor.readFirewall(await present(vmid))).ipsets).toEqual({});
  });

  it("does not overwrite manual changes made since the firewall was read", async () => {
    const vmid = await newVm();
    const at = { node: "pve1", vmid };
    const { options } = await hypervisor.readFirewall(await present(vmid));
    const wanted = { options: { ...options, enable: true }, ipsets: { own: ["10.0.0.1"] }, rules: [] };
    const set = (firewall: DesiredFirewall, changes: Partial<EffectContext> = {}) =>
      hypervisor.setFirewall(vmid, ownerOf(vmid), firewall, effect(changes));
    await set({ ...wanted, ipsets: { own: ["10.0.0.1", "10.0.0.2"] } });
    const hands = {
      options: () =>
        run(lab, `PUT /nodes/pve1/qemu/${vmid}/firewall/options`, { form: { log_level_in: "info" } }),
      rules: () =>
        client.call("POST /nodes/{node}/qemu/{vmid}/firewall/rules", { ...at, type: "in", action: "DROP" }),
      set: () =>
        client.call("POST /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}", {
          ...at,
          name: "own",
          cidr: "10.0.0.3",
        }),
    };
    const seen = async () => JSON.stringify(await hypervisor.readFirewall(await present(vmid)));
    const refused = async (hand: keyof typeof hands, firewall: DesiredFirewall) => {
      let left = "";
      const beforeCall = async () => {
        await hands[hand]();
        left = await seen();
      };
      await expect(set(firewall, { beforeCall }), hand).rejects.toBeInstanceOf(ProxmoxConflict);
      expect(await seen(), hand).toBe(left);
    };
    await refused("set", wanted);
    const more = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
    await refused("options", { ...wanted, ipsets: { own: more }, options: { ...options, dhcp: true } });
    // What is read again is enough to write.
    await set(wanted);
    const rule = { type: "in", action: "ACCEPT", comment: "fwr_1" } as const;
    await set({ ...wanted, rules: [rule] });
    await refused("rules", wanted);
    await set(wanted);
    expect((await hypervisor.readFirewall(await present(vmid))).ipsets).toEqual({ own: ["10.0.0.1"] });
  });

  it("removes a late rule and a set that was deleted concurrently", async () => {
    const vmid = await newVm();
    const at = { node: "pve1", vmid };
    const { options } = await hypervisor.readFirewall(await present(vmid));
    const allow = { type: "in", action: "ACCEPT", comment: "fwr_1" } as const;
    const wanted: DesiredFirewall = { options: { ...options, enable: true }, ipsets: {}, rules: [allow] };
    const set = (firewall: DesiredFirewall, changes: Partial<EffectContext> = {}) =>
      hypervisor.setFirewall(vmid, ownerOf(vmid), firewall, effect(changes));
    await set({ ...wanted, ipsets: { gone: ["10.0.0.1", "10.0.0.2"] } });
    const late = { ...at, type: "in", action: "ACCEPT", enable: 0, comment: "late" } as const;
    await client.call("POST /nodes/{node}/qemu/{vmid}/firewall/rules", late);
    const rules = async () => (await hypervisor.readFirewall(await present(vmid))).rules;
    expect((await rules())[0]).toEqual({ text: textOfRule({ ...late }), isEnabled: false });
    const path = "DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}";
    let calls = 0;
    await set(wanted, {
      beforeCall: async () => {
        calls += 1;
        if (calls === 1) await client.call(path, { ...at, name: "gone", force: true });
      },
    });
    expect((await rules()).filter((rule) => !isRuleNote(rule))).toEqual([
      { text: textOfRule(allow), isEnabled: true },
    ]);
    expect((await hypervisor.readFirewall(await present(vmid))).ipsets).toEqual({});
  });

  it("lets no old request change a firewall that is again as it was then", async () => {
    const vmid = await newVm();
    const path = { node: "pve1", vmid };
    const sent: { readonly isNewRule: boolean; again(): Promise<unknown> }[] = [];
    const recording = new Proxy(client, {
      get: (target, key) =>
        key !== "call"
          ? Reflect.get(target, key)
          : (...call: Parameters<typeof client.call>) => {
              const isNewRule = call[0] === "POST /nodes/{node}/qemu/{vmid}/firewall/rules";
              if (!call[0].startsWith("GET")) sent.push({ isNewRule, again: () => target.call(...call) });
              return target.call(...call);
            },
    });
    const { options } = await hypervisor.readFirewall(await present(vmid));
    const allow = (id: string, dport: string) =>
      ({ type: "in", action: "ACCEPT", proto: "tcp", dport, comment: id }) as const;
    const one: DesiredFirewall = {
      options: { ...options, enable: true },
      ipsets: {},
      rules: [allow("fwr_1", "22")],
    };
    const two: DesiredFirewall = { ...one, rules: [...one.rules, allow("fwr_2", "80")] };
    const through = new ProxmoxHypervisor(recording, virtualRuntime());
    const set = (jobId: string, firewall: DesiredFirewall) =>
      through.setFirewall(vmid, ownerOf(vmid), firewall, { ...effect(), jobId });
    await set("job_1", one);
    sent.length = 0;
    await set("job_2", two);
    await set("job_3", one);
    // Retried after another job: without the turn, the name alone would restore the earlier rules.
    await set("job_2", two);
    await set("job_3", one);
    const late = [...sent];
    const live = async () =>
      (await hypervisor.readFirewall(await present(vmid))).rules.filter(({ isEnabled }) => isEnabled);
    expect(late.length).toBeGreaterThan(16);
    for (const [index, firewall] of [one, two].entries()) {
      await set(`job_${index + 4}`, firewall);
      const before = await live();
      expect(before).toHaveLength(firewall.rules.length);
      for (const { isNewRule, again } of late) {
        const outcome = await again().catch((error: unknown) => error);
        // A new rule is added whatever was read. It stays disabled until the firewall is written again.
        if (!isNewRule) expect(outcome).toBeInstanceOf(Error);
        expect(await live()).toEqual(before);
      }
      await set(`job_${index + 4}`, firewall);
      expect(await live()).toEqual(before);
    }
    const listed = await client.call("GET /nodes/{node}/qemu/{vmid}/firewall/rules", path, {});
    expect(listed.map(({ comment }) => comment?.trimEnd())).toEqual([
      "fwr_1",
      "fwr_2",
      "kule:job job_5 turn=7",
    ]);
  });

  it("grows a disk to a size, never by one, and leaves a bigger one alone", async () => {
    const vmid = await newVm();
    for (const gib of [20, 20, 10])
      await hypervisor.resizeDisk(vmid, ownerOf(vmid), "scsi0", gib * 2 ** 30, effect());
    expect(lab.control.vm(vmid)?.config.scsi0).toContain("size=20G");
  });

  it("writes only what differs, and nothing when nothing does", async () => {
    const vmid = await newVm();
    const desired = { cores: "3", tags: "a;b", ciuser: null };
    await hypervisor.configure(vmid, ownerOf(vmid), { desired, rewriteSecrets: false }, effect());
    expect(lab.control.vm(vmid)?.config).toMatchObject({ cores: "3", tags: "a;b" });
    expect(lab.control.vm(vmid)?.config).not.toHaveProperty("ciuser");
    const again = effect();
    await hypervisor.configure(vmid, ownerOf(vmid), { desired, rewriteSecrets: false }, again);
    expect(again.told).toEqual([]);
  });

  it("shows changes that wait for a restart", async () => {
    const vmid = await newVm();
    await hypervisor.start(vmid, ownerOf(vmid), effect());
    await hypervisor.configure(
      vmid,
      ownerOf(vmid),
      { desired: { cores: "4" }, rewriteSecrets: false },
      effect(),
    );
    expect((await present(vmid)).pendingKeys).toEqual(["cores"]);
    await hypervisor.stop(vmid, ownerOf(vmid), effect());
    await hypervisor.start(vmid, ownerOf(vmid), effect());
    expect(await present(vmid)).toMatchObject({ pendingKeys: [], config: { cores: "4" } });
  });

  it("finds it right when a VM is already running or already off", async () => {
    const vmid = await newVm();
    for (const act of ["start", "start", "stop", "stop"] as const)
      await hypervisor[act](vmid, ownerOf(vmid), effect());
    expect((await present(vmid)).power).toBe("stopped");
  });

  it("deletes neither what runs nor what is protected", async () => {
    const vmid = await newVm();
    const configure = (desired: Record<string, string | null>) =>
      hypervisor.configure(vmid, ownerOf(vmid), { desired, rewriteSecrets: false }, effect());
    await hypervisor.start(vmid, ownerOf(vmid), effect());
    await expect(hypervisor.destroy(vmid, ownerOf(vmid), effect())).rejects.toBeInstanceOf(ProxmoxRunning);
    await hypervisor.stop(vmid, ownerOf(vmid), effect());
    await configure({ protection: "1" });
    await expect(hypervisor.destroy(vmid, ownerOf(vmid), effect())).rejects.toBeInstanceOf(ProxmoxProtected);
    await configure({ protection: null });
    await hypervisor.destroy(vmid, ownerOf(vmid), effect());
    expect(await hypervisor.findVm(vmid, ownerOf(vmid))).toEqual({ state: "absent" });
    expect(await hypervisor.leftoverVolumes(vmid)).toEqual([]);
  });

  it("sees a volume that was left behind, once although every node shows it", async () => {
    const vmid = nextVmid++;
    const volume = lab.control.leaveVolume("ceph-vm", vmid);
    expect((await hypervisor.leftoverVolumes(vmid)).map((each) => each.volume)).toEqual([volume]);
  });

  it("sees what a task has changed that has ended by the time no task is seen", async () => {
    const vmid = await newVm();
    lab.faults.add({
      method: "GET",
      path: "/tasks$",
      action: "world-before",
      do: "editConfig",
      args: [vmid, { tags: "changed" }],
    });
    expect((await present(vmid)).tags).toEqual(["changed"]);
  });

  it("sees a clone that died as busy without a task, and does not touch it", async () => {
    const vmid = nextVmid;
    lab.faults.tasks.add({ type: "qmclone", action: "killed", stage: "disk:scsi0" });
    await newVm().catch(() => {});
    expect(await hypervisor.findVm(vmid, ownerOf(vmid), template.vmid)).toMatchObject({
      state: "busy",
      lock: "clone",
      task: null,
    });
    await expect(hypervisor.start(vmid, ownerOf(vmid), effect())).rejects.toBeInstanceOf(ProxmoxLocked);
  });

  it("finds its clone by the task alone where no log names the VMID, however long it takes", async () => {
    const place = mkdtempSync(join(tmpdir(), "kule-hypervisor-8-"));
    const older = await startLab({ dataDir: place, version: "8.4" });
    const endpoint = { endpoints: [older.url], tls: { fingerprints: [older.fingerprint256] } };
    const own = new ProxmoxClient({ ...endpoint, tokenId: older.tokenId, tokenSecret: older.tokenSecret });
    const runtime = virtualRuntime();
    // An hour after the task has begun.
    const later = { ...runtime, now: () => Date.now() + 3_600_000 };
    const [beginner, successor] = [new ProxmoxHypervisor(own, later), new ProxmoxHypervisor(own, later)];
    const upids = new Map<number, string>();
    const clone = (vmid: number) => {
      const request = { template, vmid, name: `vm-${vmid}`, pool: "kule-org_1", storage: "ceph-vm" };
      const description = renderMarker({ ...ownerOf(vmid), organisationId: "org_1", jobId: "job_1" });
      const taskStarted = async (upid: string) => void upids.set(vmid, upid);
      return beginner.clone({ ...request, description, full: true }, effect({ taskStarted }));
    };
    try {
      await beginner.ensurePool("kule-org_1", "first", effect());
      older.faults.tasks.add({ type: "qmclone", action: "held", stage: "unlock" });
      older.faults.tasks.add({ type: "qmclone", action: "held", stage: "unlock" });
      const both = [clone(23_000), clone(23_001)];
      await older.faults.tasks.whenHeld();
      await expect.poll(() => upids.size).toBe(2);
      for (const [vmid, upid] of upids) {
        const busy = { state: "busy", task: { upid } };
        expect(await beginner.findVm(vmid, ownerOf(vmid), template.vmid)).toMatchObject(busy);
        // Another process does not know which of the two it is, and waits for one of them.
        const sighting = await successor.findVm(vmid, ownerOf(vmid), template.vmid);
        expect(sighting).toMatchObject({ state: "busy", task: { type: "qmclone" } });
      }
      older.faults.tasks.release();
      await Promise.all(both);
    } finally {
      older.faults.tasks.release();
      own.close();
      await older.stop();
      rmSync(place, { recursive: true });
    }
  });

  it("sees a running clone as busy with its task, so that it is waited for", async () => {
    const vmid = nextVmid++;
    lab.faults.tasks.add({ type: "qmclone", action: "held", stage: "unlock" });
    const upid = await client.call("POST /nodes/{node}/qemu/{vmid}/clone", { ...template, newid: vmid });
    await lab.faults.tasks.whenHeld();
    try {
      const busy = { state: "busy", task: { upid, type: "qmclone" } };
      expect(await hypervisor.findVm(vmid, ownerOf(vmid), template.vmid)).toMatchObject(busy);
      // As a job sees it without the template.
      expect(await hypervisor.findVm(vmid, ownerOf(vmid))).toMatchObject(busy);
      expect(await hypervisor.activeTasks()).toContainEqual({ upid, type: "qmclone" });
    } finally {
      lab.faults.tasks.release();
      await lab.control.settled();
    }
  });

  it("creates a pool once, also when two jobs create it concurrently", async () => {
    await Promise.all([1, 2, 3].map(() => hypervisor.ensurePool("kule-org_both", "x", effect())));
    expect(await hypervisor.poolExists("kule-org_both")).toBe(true);
  });

  async function present(vmid: number) {
    const sighting = await hypervisor.findVm(vmid, ownerOf(vmid));
    if (sighting.state !== "present") throw new Error(`VM ${vmid} is ${sighting.state}`);
    return sighting.vm;
  }
});

describe("The check of a region", () => {
  const settings: PreflightSettings = {
    storages: ["ceph-vm"],
    bridges: ["vmbr1"],
    poolPrefix: "kule",
    templates: { "ubuntu-24.04": [9000], "windows-2022": [9005] },
    vmidRange: [20_000, 20_999],
    hasNodeFilter: true,
  };
  const required = async (changes: Partial<PreflightSettings> = {}) =>
    (await preflight(client, { ...settings, ...changes })).filter(
      (finding) => finding.severity === "required",
    );
  const complaints = async (changes: Partial<PreflightSettings> = {}) =>
    (await required(changes))
      .filter((finding) => !finding.ok)
      .map(({ check, found }) => `${check}: ${found}`);

  it("finds nothing to complain about in a region that is set up right", async () => {
    expect(await complaints()).toEqual([]);
    expect((await required()).length).toBeGreaterThan(10);
  });

  it("names a storage, a bridge and a template that are not there, and what is missing on them", async () => {
    const found = (
      await complaints({ storages: ["nvme"], bridges: ["vmbr7"], templates: { plan9: [9999] } })
    ).join("\n");
    for (const text of [
      "storage nvme on pve1: not there",
      "bridge vmbr7 on pve2: not there",
      "template plan9 (9999): not there",
      "privileges on /storage/nvme: missing: Datastore.AllocateSpace, Datastore.Audit",
    ])
      expect(found).toContain(text);
  });

  it("finds defects that would make every clone of a template unusable", async () => {
    const { config } = lab.control.vm(9001) ?? { config: {} as Record<string, string> };
    lab.control.editConfig(9001, { hookscript: "local:snippets/x" }, ["ide2", "boot", "scsi0"]);
    const found = await complaints({ templates: { "ubuntu-22.04": [9001] } });
    lab.control.editConfig(9001, config, ["hookscript"]);
    expect(found).toEqual([
      "template ubuntu-22.04 (9001): no boot disk",
      "template ubuntu-22.04 (9001): no cloud-init drive",
      "template ubuntu-22.04 (9001): carries hookscript",
    ]);
  });

  it("warns of a Windows template without a guest agent: only the agent sets a password there", async () => {
    const { agent = "" } = lab.control.vm(9005)?.config ?? {};
    lab.control.editConfig(9005, {}, ["agent"]);
    const found = await preflight(client, settings);
    lab.control.editConfig(9005, { agent });
    expect(found.filter(({ check }) => check === "template windows-2022 (9005)")).toMatchObject([
      {
        ok: false,
        severity: "advised",
        found: expect.stringContaining("no Windows server made from it gets its password"),
        fix: expect.stringContaining("qm set 9005 --agent enabled=1"),
      },
    ]);
  });

  it("warns that the filter of tagged frames is not declared, which no API shows", async () => {
    const about = async (hasNodeFilter: boolean) =>
      (await preflight(client, { ...settings, hasNodeFilter })).filter(
        ({ check }) => check === "frames with a tag",
      );
    expect(await about(true)).toMatchObject([{ ok: true, severity: "advised" }]);
    expect(await about(false)).toMatchObject([
      { ok: false, severity: "advised", fix: expect.stringContaining("kule-node-filter.nft") },
    ]);
  });

  it("finds a stranger in our range", async () => {
    lab.control.stealVmid(20_500);
    const found = await complaints();
    lab.control.deleteVm(20_500);
    expect(found).toEqual(["VMID range 20000-20999: guests of others: 20500"]);
  });

  it("reports a wrong token before anything else", async () => {
    const wrong = new ProxmoxClient({
      endpoints: [lab.url],
      tokenId: lab.tokenId,
      tokenSecret: "not-the-secret",
      tls: { fingerprints: [lab.fingerprint256] },
    });
    lab.faults.add({
      path: "/version$",
      action: "status-before",
      status: 401,
      reason: "Authentication failed!",
    });
    const findings = await preflight(wrong, settings);
    wrong.close();
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ check: "version", ok: false, fix: expect.stringContaining("token") });
  });
});
