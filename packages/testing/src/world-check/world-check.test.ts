import { databaseChecks, ownershipPairs } from "@kule/invariants/database-checks";
import type { JournalEntry } from "@kule/lab/journal";
import { renderMarker } from "@kule/proxmox/marker";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FreshDatabase, freshDatabase } from "../database.ts";
import type { ObservedVm, RegionView } from "./region-invariants.ts";
import { violationsIn, worldCheck } from "./world-check.ts";

/** A quiet world: a running server, one on its way, one in the removal buffer, and one that is gone. */
const quiet = `
insert into organisation (id, slug, name, usage_seq) values ('org_a', 'a', 'A', 2), ('org_b', 'b', 'B', 0);
insert into region (slug, name, vmid_first, vmid_last, vlan_first, vlan_last) values
  ('r1', 'R1', 100, 200, 100, 200), ('r2', 'R2', 100, 200, 100, 200);
insert into region_vmid (region, vmid) select r, v from unnest(array['r1', 'r2']) r, generate_series(100, 110) v;
insert into region_vlan (region, vlan) select r, v from unnest(array['r1', 'r2']) r, generate_series(100, 110) v;
insert into network (id, organisation_id, region, name, cidr) values
  ('net_a', 'org_a', 'r1', 'n', '10.0.0.0/16'), ('net_b', 'org_b', 'r1', 'n', '10.0.0.0/16'),
  ('net_r2', 'org_a', 'r2', 'n', '10.0.0.0/16');
insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint) values
  ('sub_a', 'org_a', 'net_a', 'r1', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.2'),
  ('sub_b', 'org_b', 'net_b', 'r1', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.2'),
  ('sub_r2', 'org_a', 'net_r2', 'r2', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.2');
update region_vlan set subnet_id = 'sub_a' where region = 'r1' and vlan = 100;
update region_vlan set subnet_id = 'sub_b' where region = 'r1' and vlan = 101;
update region_vlan set subnet_id = 'sub_r2' where region = 'r2' and vlan = 100;
insert into server (id, organisation_id, region, name, status, image, package, purge_at, restores_to, deleted_at) values
  ('srv_run', 'org_a', 'r1', 'run', 'running', 'debian-12', 's', null, null, null),
  ('srv_new', 'org_a', 'r1', 'new', 'creating', 'debian-12', 's', null, null, null),
  ('srv_out', 'org_b', 'r1', 'out', 'pending_deletion', 'debian-12', 's', now() + interval '1 day', 'running', null),
  ('srv_gone', 'org_b', 'r1', 'gone', 'deleted', 'debian-12', 's', now() - interval '1 hour', 'running', now());
update region_vmid set state = 'used', server_id = 'srv_run' where region = 'r1' and vmid = 100;
update region_vmid set state = 'used', server_id = 'srv_new' where region = 'r1' and vmid = 101;
update region_vmid set state = 'used', server_id = 'srv_out' where region = 'r1' and vmid = 102;
update region_vmid set state = 'tombstone', server_id = 'srv_gone', free_after = now() + interval '1 day' where region = 'r1' and vmid = 103;
insert into nic (id, organisation_id, region, server_id, subnet_id, mac) values
  ('nic_run', 'org_a', 'r1', 'srv_run', 'sub_a', '0a:4b:75:00:00:64'),
  ('nic_new', 'org_a', 'r1', 'srv_new', 'sub_a', '0a:4b:75:00:00:65'),
  ('nic_out', 'org_b', 'r1', 'srv_out', 'sub_b', '0a:4b:75:00:00:66');
insert into address (subnet_id, address, organisation_id, state, nic_id) values
  ('sub_a', '10.0.1.1', 'org_a', 'reserved', null),
  ('sub_a', '10.0.1.2', 'org_a', 'used', 'nic_run'), ('sub_a', '10.0.1.3', 'org_a', 'used', 'nic_new'),
  ('sub_b', '10.0.1.2', 'org_b', 'used', 'nic_out');
insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, epoch, attempt, finished_at, lease_until, requested_by, request_id, created_at) values
  ('job_run', 'org_a', 'r1', 'ServerCreate', 'server', 'srv_run', 'succeeded', 2, 2, now(), null, '{}', 'req_1', now()),
  ('job_gone', 'org_b', 'r1', 'ServerDestroy', 'server', 'srv_gone', 'succeeded', 1, 1, now(), null, '{}', 'req_2', now()),
  ('job_new', 'org_a', 'r1', 'ServerCreate', 'server', 'srv_new', 'queued', 0, 0, null, null, '{}', 'req_3', now());
select kule_queue_add('job_new');
insert into job_step (job_id, organisation_id, epoch, seq, attempt, phase, name, status, started_at) values
  ('job_run', 'org_a', 1, 1, 1, 'apply', 'clone', 'failed', now() - interval '2 minutes'),
  ('job_run', 'org_a', 2, 1, 2, 'observe', 'look', 'succeeded', now() - interval '1 minute');
insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values
  ('aud_1', 'agent', 'job.end', 'job_run', 'succeeded', 200, 'req_1'), ('aud_2', 'agent', 'job.end', 'job_gone', 'succeeded', 200, 'req_2');
insert into usage_event (id, organisation_id, seq, kind, region, resource_type, resource_id, resource_name, quantity, job_id) values
  ('use_1', 'org_a', 1, 'disk.allocated', 'r1', 'server', 'srv_run', 'run', '{}', 'job_run'),
  ('use_2', 'org_a', 2, 'server.started', 'r1', 'server', 'srv_run', 'run', '{}', 'job_run');
`;

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
beforeEach(() => owner.query(`begin; ${quiet}`));
afterEach(() => owner.query("rollback"));

const found = async (view = region()) =>
  (await violationsIn(owner, [view])).map(({ invariant, subject }) => `${invariant} ${subject}`);

/** Writes that a constraint would refuse: the check must see what a lost constraint lets through. */
const unchecked = "set local session_replication_role = replica;";

describe("a quiet world", () => {
  it("has no violations", async () => {
    expect(await found()).toEqual([]);
  });

  it("is looked at in a snapshot of its own", async () => {
    expect(await worldCheck({ ownerUrl: database.ownerUrl, regions: [] })).toEqual([]);
  });

  it("has every pair of tables that a key with the organisation joins in the list of pairs", async () => {
    const { rows } = await owner.query(`
      select con.conrelid::regclass::text as child, a.attname as column, con.confrelid::regclass::text as parent
        from pg_constraint con, unnest(con.conkey) k, pg_attribute a, pg_class child, pg_class parent
       where con.contype = 'f' and a.attrelid = con.conrelid and a.attnum = k and child.oid = con.conrelid
         and parent.oid = con.confrelid and child.relforcerowsecurity and parent.relforcerowsecurity
         and a.attname not in ('organisation_id', 'region')`);
    const listed = ownershipPairs.map(({ child, column, parent }) => ({ child, column, parent }));
    expect(listed).toEqual(expect.arrayContaining(rows));
    expect(rows.length).toBeGreaterThan(7);
  });
});

describe("in the database the check finds", () => {
  const planted: readonly (readonly [what: string, sql: string, expected: string | RegExp])[] = [
    [
      "a server without an address",
      "delete from address where nic_id = 'nic_run'",
      /^I3 srv_run has 1 VMIDs, 1 interfaces, 0/,
    ],
    [
      "a server with two VM numbers",
      "drop index region_vmid_server; update region_vmid set state = 'used', server_id = 'srv_run' where region = 'r1' and vmid = 109",
      /^I3 srv_run has 2 VMIDs/,
    ],
    [
      "an address of a server that is gone",
      "update server set status = 'deleted', deleted_at = now() where id = 'srv_run'",
      "I4 address 10.0.1.2 of srv_run",
    ],
    [
      "a VM number of a server that is gone",
      "update server set status = 'deleted', deleted_at = now() where id = 'srv_run'",
      "I4 VMID 100 of srv_run",
    ],
    [
      "a subnet without a VLAN",
      "update region_vlan set subnet_id = null where subnet_id = 'sub_a'",
      "I4 sub_a has 0 VLANs",
    ],
    [
      "a VLAN of another region",
      "update region_vlan set subnet_id = null where subnet_id = 'sub_a'; update region_vlan set subnet_id = 'sub_a' where region = 'r2' and vlan = 107",
      "I4 VLAN 107 of sub_a",
    ],
    [
      "an address outside of its subnet",
      "insert into address (subnet_id, address, organisation_id, state) values ('sub_a', '10.9.9.9', 'org_a', 'reserved')",
      "I4 10.9.9.9 is not in 10.0.1.0/24",
    ],
    [
      "a VM number outside of the region's range",
      "update region set vmid_first = 101 where slug = 'r1'",
      "I4 VMID 100",
    ],
    [
      "an address held for a server that nothing brings",
      "update job set status = 'cancelled', finished_at = now() where id = 'job_new'",
      "I4 10.0.1.3 of srv_new",
    ],
    [
      "an open job without its server",
      "update job set resource_id = 'srv_none' where id = 'job_new'",
      "I5 job_new for srv_none",
    ],
    [
      "a server that is created by no job",
      "update job set status = 'cancelled', finished_at = now() where id = 'job_new'",
      "I5 srv_new is creating",
    ],
    [
      "a server that is destroyed by no job",
      "update server set status = 'deleting' where id = 'srv_out'",
      "I5 srv_out is deleting",
    ],
    ["a job that is not in the queue", "select kule_queue_finish('job_new', 0)", "I5 not queued: job_new"],
    [
      "a queue entry whose job has ended",
      "update job set status = 'cancelled', finished_at = now() where id = 'job_new'",
      "I5 queued though ended: job_new",
    ],
    [
      "a server in the buffer that does not know until when",
      "alter table server drop constraint server_check; alter table server drop constraint if exists server_check1; update server set purge_at = null where id = 'srv_out'",
      "I5 srv_out",
    ],
    [
      "a lease that passed long ago",
      "update job set status = 'running', epoch = 1, attempt = 1, lease_until = now() - interval '1 hour' where id = 'job_new'",
      "I6 job_new",
    ],
    ["a step of an epoch to come", "update job set epoch = 1 where id = 'job_run'", "I7 job_run epoch 2"],
    [
      "a step that a former holder got through",
      "update job_step set started_at = now() where epoch = 1",
      "I7 job_run epoch 1 after 2",
    ],
    [
      "a running job that nobody claimed",
      "update job set status = 'running', lease_until = now() + interval '1 minute' where id = 'job_new'",
      "I7 job_new",
    ],
    ["an ended job without an audit row", "delete from audit where id = 'aud_1'", "I9 job_run has 0"],
    [
      "a server that is started twice in usage",
      "update organisation set usage_seq = 3 where id = 'org_a'; insert into usage_event (id, organisation_id, seq, kind, region, resource_type, resource_id, resource_name, quantity) values ('use_3', 'org_a', 3, 'server.started', 'r1', 'server', 'srv_run', 'run', '{}')",
      "I9 srv_run server.started twice, at 3",
    ],
    ["a gap in usage", "delete from usage_event where id = 'use_1'", "I9 org_a counts 2, has 1"],
    [
      "two servers of one name",
      "drop index server_name; update server set name = 'run' where id = 'srv_new'",
      "I10 name org_a/r1/run",
    ],
    [
      "two interfaces with one MAC",
      "alter table nic drop constraint nic_mac; update nic set mac = '0a:4b:75:00:00:64' where id = 'nic_new'",
      "I10 MAC r1/0a:4b:75:00:00:64",
    ],
    [
      "one address given out twice",
      "alter table address drop constraint address_pkey; update address set address = '10.0.1.2' where nic_id = 'nic_new'",
      "I10 address sub_a/10.0.1.2",
    ],
    [
      "one VM number given out twice",
      "alter table region_vmid drop constraint region_vmid_pkey; update region_vmid set vmid = 100 where server_id = 'srv_new'",
      "I10 VMID r1/100",
    ],
    [
      "one VLAN given out twice",
      "alter table region_vlan drop constraint region_vlan_pkey; update region_vlan set vlan = 100 where subnet_id = 'sub_b'",
      "I10 VLAN r1/100",
    ],
    [
      "two waiting jobs of one server",
      "drop index job_one_queued; update job set resource_id = 'srv_new', status = 'queued', finished_at = null where id = 'job_run'",
      "I10 queued jobs of srv_new",
    ],
    [
      "two running jobs of one server",
      "drop index job_one_running; update job set resource_id = 'srv_new', status = 'running', epoch = 2, attempt = 1, finished_at = null, lease_until = now() + interval '1 minute' where id in ('job_run', 'job_new')",
      "I10 running jobs of srv_new",
    ],
    [
      "overlapping subnets",
      "alter table subnet drop constraint subnet_cidr_overlap; insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint) values ('sub_x', 'org_a', 'net_a', 'r1', 'x', 'app', '10.0.0.0/20', '10.0.0.1', '10.0.0.2')",
      "I10 sub_a overlaps sub_x",
    ],
    [
      "a job for a server of others",
      "update job set organisation_id = 'org_b' where id = 'job_new'",
      "I11 job srv_new",
    ],
    [
      "a destroy job before the buffer has ended",
      "update server set purge_at = now() + interval '1 hour' where id = 'srv_gone'",
      /^I13 job_gone for srv_gone/,
    ],
    [
      "a destroy job for a server that was kept",
      "update server set status = 'running', deleted_at = null, purge_at = null where id = 'srv_gone'",
      /^I13 job_gone for srv_gone \(running\)/,
    ],
    [
      "a password that nobody needs any more",
      "insert into server_secret (server_id, organisation_id, password_hash) values ('srv_run', 'org_a', 'x')",
      "secret-kept srv_run",
    ],
    ...ownershipPairs
      .filter(({ child }) => child !== "job")
      .map(({ child, column }): [string, string, RegExp] => [
        `${child}.${column} of another organisation`,
        child === "server_secret"
          ? `${unchecked} insert into server_secret (server_id, organisation_id) values ('srv_new', 'org_b')`
          : `${unchecked} update ${child} set organisation_id = case organisation_id when 'org_a' then 'org_b' else 'org_a' end where ${column} is not null`,
        new RegExp(`^I11 ${child} `),
      ]),
    [
      "an interface in another region",
      `${unchecked} update nic set subnet_id = 'sub_r2' where id = 'nic_run'`,
      "I11 nic sub_r2",
    ],
  ];

  it.each(planted)("%s", async (_what, sql, expected) => {
    await owner.query(sql);
    expect(await found()).toContainEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
  });

  it("something for each of its checks", async () => {
    const seen = new Set<string>();
    for (const [, sql] of planted) {
      await owner.query("savepoint planted");
      await owner.query(sql);
      for (const { check } of await violationsIn(owner)) seen.add(check);
      await owner.query("rollback to savepoint planted");
    }
    expect(databaseChecks.map(({ check }) => check).filter((check) => !seen.has(check))).toEqual([]);
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
