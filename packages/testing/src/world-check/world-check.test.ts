import type { JournalEntry } from "@kule/lab/journal";
import { renderMarker } from "@kule/proxmox/marker";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FreshDatabase, freshDatabase } from "../database.ts";
import { quietWorld } from "./quiet-world.ts";
import type { ObservedVm, RegionView } from "./region-invariants.ts";
import { violationsIn, worldCheck } from "./world-check.ts";

const description = (serverId: string, organisationId: string) =>
  renderMarker({ serverId, organisationId, region: "r1", jobId: "job_run" });
const vmRun: ObservedVm = {
  vmid: 100,
  running: true,
  description: description("srv_run", "org_a"),
  config: {
    tags: "kule;org_a;srv_run",
    net0: "virtio=0A:4B:75:00:00:64,bridge=vmbr1,firewall=1,tag=100",
    ipconfig0: "gw=10.0.1.1,ip=10.0.1.2/24",
  },
};
const vmOut: ObservedVm = {
  vmid: 102,
  running: false,
  description: description("srv_out", "org_b"),
  config: null,
};
const template: ObservedVm = { vmid: 9000, running: false, description: "a template", config: {} };
const destroyed = (serverId: string, atMs: number): JournalEntry => ({
  seq: 1,
  at: atMs,
  op: "vm-destroyed",
  vmid: 103,
  detail: { description: description(serverId, "org_b") },
});
const region = (more: Partial<RegionView> = {}): RegionView => ({
  region: "r1",
  vms: [vmRun, vmOut, template],
  journal: [destroyed("srv_gone", Date.now())],
  ...more,
});

let database: FreshDatabase;
let owner: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await database?.drop();
});
beforeEach(() => owner.query(`begin; ${quietWorld}`));
afterEach(() => owner.query("rollback"));

const found = async (view = region()) =>
  (await violationsIn(owner, [view])).map(({ invariant, subject }) => `${invariant} ${subject}`);

describe("a quiet world", () => {
  it("has no violations", async () => {
    expect(await found()).toEqual([]);
  });

  it("is read in a snapshot of its own", async () => {
    expect(await worldCheck({ ownerUrl: database.ownerUrl, regions: [] })).toEqual([]);
  });
});

describe("in a region the check finds", () => {
  const copy = (more: Partial<ObservedVm>): ObservedVm => ({ ...vmRun, ...more });
  const planted: readonly (readonly [what: string, view: RegionView, expected: string | RegExp])[] = [
    ["two VMs of one server", region({ vms: [vmRun, vmOut, copy({ vmid: 105 })] }), "I1 srv_run: 100, 105"],
    [
      "a VM whose server is gone",
      region({ vms: [vmRun, vmOut, copy({ vmid: 103, description: description("srv_gone", "org_b") })] }),
      "I2 VM 103 of srv_gone",
    ],
    [
      "a VM that no server knows",
      region({ vms: [vmRun, vmOut, copy({ vmid: 109, description: description("srv_zzz", "org_a") })] }),
      "I2 VM 109 of srv_zzz",
    ],
    [
      "a VM under another number than its server's",
      region({ vms: [copy({ vmid: 108 }), vmOut] }),
      "I2 VM 108 of srv_run",
    ],
    [
      "a VM marked for another organisation",
      region({ vms: [copy({ description: description("srv_run", "org_b") }), vmOut] }),
      "I2 VM 100 of srv_run",
    ],
    [
      "a VM without its organisation's tag",
      region({ vms: [copy({ config: { ...vmRun.config, tags: "kule" } }), vmOut] }),
      "I2 VM 100: kule",
    ],
    ["a server without a VM", region({ vms: [vmOut] }), "I3 srv_run"],
    [
      "a VM that is off though its server runs",
      region({ vms: [copy({ running: false }), vmOut] }),
      "I3 srv_run, VM 100",
    ],
    [
      "a VM in another VLAN",
      region({
        vms: [
          copy({ config: { ...vmRun.config, net0: "virtio=0A:4B:75:00:00:64,bridge=vmbr1,tag=101" } }),
          vmOut,
        ],
      }),
      "I3 srv_run, VM 100",
    ],
    [
      "a VM with another MAC",
      region({
        vms: [
          copy({ config: { ...vmRun.config, net0: "virtio=0A:4B:75:00:00:99,bridge=vmbr1,tag=100" } }),
          vmOut,
        ],
      }),
      "I3 srv_run, VM 100",
    ],
    [
      "a VM with another address",
      region({ vms: [copy({ config: { ...vmRun.config, ipconfig0: "ip=10.0.1.77/24" } }), vmOut] }),
      "I3 srv_run, VM 100",
    ],
    [
      "a VM that was destroyed although its server was kept",
      region({ journal: [destroyed("srv_run", Date.now())] }),
      /^I13 srv_run \(running\)/,
    ],
    [
      "a VM that was destroyed before its time",
      region({ journal: [destroyed("srv_gone", Date.now() - 7_200_000)] }),
      /^I13 srv_gone \(deleted\)/,
    ],
  ];

  it.each(planted)("%s", async (_what, view, expected) => {
    expect(await found(view)).toContainEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
  });

  it("nothing wrong with a server that a job is working on", async () => {
    const half = copy({
      vmid: 101,
      running: false,
      description: description("srv_new", "org_a"),
      config: {},
    });
    expect(await found(region({ vms: [vmRun, vmOut, half] }))).toEqual([]);
  });
});
