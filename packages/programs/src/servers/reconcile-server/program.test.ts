import type { PayloadOf } from "@kule/contract/schemas";
import { parseNetDevice } from "@kule/proxmox/property-string";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Failed } from "../../errors.ts";
import type { Job } from "../../program.ts";
import { runJob } from "../../registry.ts";
import {
  createJob,
  endState,
  type LabRegion,
  quietHost,
  SETTINGS,
  startLabRegion,
  stepsDone,
} from "../../testing/lab-region.ts";

let region: LabRegion;
let next = 23_000;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

const outside = {
  mac: "BC:24:11:00:01:0A",
  vlan: 10,
  addresses: [{ version: 4, address: "198.51.100.9", prefix_length: 24, gateway: "198.51.100.1" }],
} satisfies PayloadOf<"ServerCreate">["public_interface"];
const filter = { id: "flt_1", is_filtered: true, rules: [] } satisfies PayloadOf<"FirewallApply">["filter"];

type ReconcileJob = Job<PayloadOf<"ServerReconcile">>;

/** A server as it was created, and the job that reconciles it. */
async function server(more: Partial<PayloadOf<"ServerCreate">> = {}): Promise<ReconcileJob> {
  const vmid = next++;
  const job = createJob(vmid, { public_interface: outside, filter, ...more });
  await runJob(job, region.world, quietHost());
  const { server, pool, tags, interfaces, public_interface = null } = job.payload;
  const payload = { kind: "ServerReconcile", server, vmid, pool, tags, interfaces, public_interface, filter };
  return { id: `job_right_${vmid}`, payload } as ReconcileJob;
}

const configOf = ({ payload }: ReconcileJob) => region.lab.control.vm(payload.vmid)?.config ?? {};
const edit = ({ payload }: ReconcileJob, set: Record<string, string>, remove: readonly string[] = []) =>
  region.lab.control.editConfig(payload.vmid, set, remove);
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Failed ? error.facts.code : String(error)),
  );

/** All that an operator can change in the web interface, at once. */
function changeManually(job: ReconcileJob): void {
  const { net0 = "", net1 = "" } = configOf(job);
  edit(job, {
    name: "mine",
    tags: "mine;kule-removing",
    net0: `${net0.replace("tag=120", "tag=999").replace("firewall=1", "firewall=0")},rate=3,trunks=5;6,queues=2`,
    net1: net1.replace(outside.mac, "0E:00:00:00:00:01").replace("vmbr0", "vmbr1"),
    net5: "virtio=0E:00:00:00:00:05,bridge=vmbr0",
  });
  region.lab.control.setFirewallOption(job.payload.vmid, "ipfilter", "0");
  region.lab.control.leavePool(job.payload.vmid);
}

it("puts name, tags, interfaces, firewall and pool right, and changes nothing where all is right", async () => {
  const job = await server();
  const before = JSON.parse(JSON.stringify(await endState(region, job.payload.vmid)));
  changeManually(job);
  const host = quietHost();
  const observed = await runJob(job, region.world, host);
  expect(stepsDone(host.events)).toEqual([
    "close-links",
    "describe",
    "change-links",
    "firewall",
    "open-links",
    "join-pool",
  ]);
  expect(observed).toMatchObject({ power_state: "on", filter: "flt_1" });
  const after = JSON.parse(JSON.stringify(await endState(region, job.payload.vmid)));
  // Tags of others stay, and so do options that only the guest's driver depends on.
  expect(after.config.tags.split(";")).toContain("mine");
  expect(after.config.tags).not.toContain("kule-removing");
  expect(after.config.net0).toContain("queues=2");
  const alike = (state: typeof after) => ({
    ...state,
    vm: { ...state.vm, tags: [] },
    config: { ...state.config, tags: "", description: "", net0: state.config.net0.replace(",queues=2", "") },
  });
  expect(alike(after)).toEqual(alike(before));
  const again = quietHost();
  await runJob(job, region.world, again);
  expect(stepsDone(again.events)).toEqual([]);
});

it("connects no interface that it changes before the hypervisor's firewall has read its rules, wherever it dies", async () => {
  const passed: string[] = [];
  const plain = await server();
  changeManually(plain);
  await runJob(plain, region.world, quietHost({ crashPoint: async (point) => void passed.push(point) }));
  const points = [
    ...new Set(passed.filter((point) => /(links|firewall)\.(effect-done|after-ack)/.test(point))),
  ];
  expect(points).toContain("ServerReconcile.change-links.effect-done");
  const found: string[] = [];
  for (const point of ["", ...points]) {
    const job = await server();
    changeManually(job);
    let changedAt: number | null = null;
    let lastRuleAt = 0;
    let died = false;
    const look = () => {
      const now = region.world.runtime.now();
      const devices = Object.entries(configOf(job)).flatMap(([key, text]) =>
        /^net[01]$/.test(key) ? [{ key, device: parseNetDevice(text) }] : [],
      );
      for (const { key, device } of devices) {
        const { vlan, mac, bridge, firewall, extra } = device;
        const isRight =
          firewall &&
          (key === "net0" ? vlan === 120 && !extra.has("rate") : mac === outside.mac && bridge === "vmbr0");
        if (extra.get("link_down") === "1") {
          if (isRight) changedAt ??= now;
        } else if (
          isRight &&
          (changedAt === null || now < Math.max(changedAt, lastRuleAt) + SETTINGS.firewallRoundMs)
        )
          found.push(
            `${point || "undisturbed"}: ${key} is connected ${changedAt === null ? "at once" : "too soon"}`,
          );
      }
    };
    const watch = async (at: string) => {
      if (at.includes(".firewall.effect-done")) lastRuleAt = region.world.runtime.now();
      look();
      if (died || at !== point) return;
      died = true;
      throw new Error("killed");
    };
    const run = () => runJob(job, region.world, quietHost({ crashPoint: watch }));
    if (point !== "") await expect(run(), point).rejects.toThrow("killed");
    await run();
    expect(configOf(job).net0).not.toContain("link_down");
  }
  expect(found).toEqual([]);
});

it("restores an interface that was removed, disconnected at first", async () => {
  const job = await server();
  edit(job, {}, ["net1"]);
  const host = quietHost();
  await runJob(job, region.world, host);
  expect(stepsDone(host.events)).toEqual(["change-links", "open-links"]);
  expect(parseNetDevice(configOf(job).net1 ?? "")).toMatchObject({
    mac: outside.mac,
    vlan: 10,
    firewall: true,
  });
});

it("keeps the model of a card that its guest was adopted with", async () => {
  const job = await server();
  const { net0 = "" } = configOf(job);
  edit(job, { net0: net0.replace("virtio=", "e1000=").replace("tag=120", "tag=7") });
  await runJob(job, region.world, quietHost());
  expect(parseNetDevice(configOf(job).net0 ?? "")).toMatchObject({
    model: "e1000",
    vlan: 120,
    firewall: true,
  });
});

it("marks a VM again whose marker was removed, by its number, its tag and its MAC address", async () => {
  const job = await server();
  edit(job, { description: "mine now" });
  const host = quietHost();
  await runJob(job, region.world, host);
  expect(stepsDone(host.events)[0]).toBe("mark");
  expect(configOf(job).description).toMatch(new RegExp(`^kule:v1 srv=${job.payload.server.id} `));
  expect(configOf(job).description).toContain("mine now");
});

it("changes no VM that is another's, foreign, or not known by its MAC address, and creates none", async () => {
  const vmids: [ReconcileJob, string][] = [];
  const other = await server();
  edit(other, { description: "kule:v1 srv=srv_x org=org_x region=lab1 job=job_x" });
  vmids.push([other, "vm_not_ours"]);
  const copied = await server();
  const { net0 = "" } = configOf(copied);
  edit(copied, { description: "", net0: net0.replace(/=[0-9A-F:]{17}/i, "=0E:00:00:00:00:01") });
  vmids.push([copied, "vm_not_ours"]);
  const stranger = await server();
  region.lab.control.deleteVm(stranger.payload.vmid);
  region.lab.control.stealVmid(stranger.payload.vmid);
  vmids.push([stranger, "vm_not_ours"]);
  const gone = await server();
  region.lab.control.deleteVm(gone.payload.vmid);
  vmids.push([gone, "vm_missing"]);
  for (const [job, code] of vmids) {
    const before = JSON.stringify(region.lab.control.vm(job.payload.vmid));
    expect(await codeOf(runJob(job, region.world, quietHost()))).toBe(code);
    expect(JSON.stringify(region.lab.control.vm(job.payload.vmid))).toBe(before);
  }
});

it("says that a restart is needed where the hardware cannot be changed while the guest runs", async () => {
  const job = await server();
  const { net0 = "" } = configOf(job);
  edit(job, { hotplug: "disk" });
  edit(job, { net0: net0.replace(/=[0-9A-F:]{17}/i, "=0E:00:00:00:00:01") });
  expect(await codeOf(runJob(job, region.world, quietHost()))).toBe("restart_needed");
});
