import { databaseChecks } from "@kule/invariants/database-checks";
import { findViolations } from "@kule/invariants/find-violations";
import { everything, keys, limitedTo, type Part } from "@kule/invariants/keys";
import { ownershipPairs } from "@kule/invariants/ownership";
import { uniqueFacts } from "@kule/invariants/uniqueness";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FreshDatabase, freshDatabase } from "../database.ts";
import { quietWorld } from "./quiet-world.ts";

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
beforeEach(async () => {
  await owner.query(`begin; ${quietWorld}`);
  // The quiet world could be committed. The planted violations could not: the checks must see what a missing
  // constraint or trigger allows.
  await owner.query("set constraints all immediate; set local session_replication_role = replica");
});
afterEach(() => owner.query("rollback"));

/** Checks that found something in one of these tests. */
const caught = new Set<string>();

const found = async () =>
  (await findViolations(owner)).map(({ invariant, check, subject }) => {
    caught.add(check);
    // Times do not matter, and vary.
    return `${invariant} ${subject.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+\+00/g, "T")}`;
  });

const sliced = databaseChecks.filter(({ by }) => by !== undefined);
type Place = { readonly subject: string; readonly key: string };
const placesIn = async (sql: string, part: Part) => (await owner.query<Place>(limitedTo(sql, part))).rows;

/** Each violation of a check that is read in slices is found in the slices that have its place, and in no other. */
async function expectSlicesToFindTheSame(): Promise<void> {
  for (const { check, sql } of sliced)
    for (const place of await placesIn(sql, everything)) {
      const { key } = place;
      expect(await placesIn(sql, { values: [key] }), check).toContainEqual(place);
      expect(await placesIn(sql, { from: "", to: key }), check).toContainEqual(place);
      expect(await placesIn(sql, { from: key, to: null }), check).not.toContainEqual(place);
    }
}

/** The triggers that count and note did not run. */
const countAgain = () =>
  owner.query(`select kule_recount_quotas(id) from organisation;
    select kule_recount_public_addresses(id) from ip_pool;
    delete from ssh_key_use;
    insert into ssh_key_use select * from ssh_key_use_due`);

/** The organisation's next usage event, numbered as it should be. */
const usage = (kind: string, server = "srv_run") =>
  `update organisation set usage_seq = usage_seq + 1 where id = 'org_a';
   insert into usage_event (id, organisation_id, seq, kind, region, resource_type, resource_id, resource_name, quantity)
   select 'use_' || usage_seq || '_a', id, usage_seq, '${kind}', 'r1', 'server', '${server}', 'run', '{}' from organisation where id = 'org_a';`;

/** A complete scan of a region an hour from now, when no job of the quiet world can have changed anything. */
const look = (...vms: readonly string[]) =>
  `update region_inventory set pass = 7, complete_pass = 7, complete_began_at = now() + interval '1 hour'
     where region = 'r1';
   delete from region_vm where region = 'r1';
   insert into region_vm (region, vmid, pass, looked_at, state, marker_server_id, marker_organisation_id, marker_region)
     select 'r1', vmid, 7, now() + interval '1 hour', 'seen', server, organisation, 'r1'
       from (values ${vms.join(", ")}) seen(vmid, server, organisation);`;
const seenRun = "(100, 'srv_run', 'org_a')";

type Planted = readonly [what: string, sql: string, expected: readonly string[]];

/** Each breaks one promise; what is found is all that is found. */
const planted: readonly Planted[] = [
  [
    "a server without an address",
    "delete from address where nic_id = 'nic_run'",
    [
      "I3 srv_run has 1 VMIDs, 1 interfaces, 0 addresses",
      "I4 sub_a lost 1 addresses below 10.0.1.4",
      "I4 pf_a to 10.0.1.2",
    ],
  ],
  [
    "a server without an interface",
    "delete from address where nic_id = 'nic_run'; delete from nic where id = 'nic_run'",
    [
      "I3 srv_run has 1 VMIDs, 0 interfaces, 0 addresses",
      "I4 sub_a lost 1 addresses below 10.0.1.4",
      "I4 pf_a to 10.0.1.2",
    ],
  ],
  [
    "a server without a VM number",
    "update region_vmid set state = 'quarantined' where server_id = 'srv_run'",
    ["I3 srv_run has 0 VMIDs, 1 interfaces, 1 addresses"],
  ],
  [
    "a server with two VM numbers",
    "drop index region_vmid_server; update region_vmid set state = 'used', server_id = 'srv_run' where region = 'r1' and vmid = 109",
    [
      "I3 srv_run has 2 VMIDs, 1 interfaces, 1 addresses",
      "I10 VMIDs of srv_run",
      "I10 region_vmid has 0 of 1 unique indexes of server_id",
    ],
  ],
  [
    "allocations of a server that is gone",
    "update server set status = 'deleted', deleted_at = now() where id = 'srv_out'",
    [
      "I4 VMID 102 of srv_out",
      "I4 address 10.0.1.2 of srv_out",
      "I4 interface nic_out",
      "I9 srv_out is deleted with power off; usage has 0 disks, 0 runs, 0 purges",
      "I13 srv_out",
    ],
  ],
  [
    "an address of nobody",
    "alter table address drop constraint address_organisation_id_nic_id_fkey; update address set nic_id = 'nic_none' where nic_id = 'nic_out'",
    [
      "I3 srv_out has 1 VMIDs, 1 interfaces, 0 addresses",
      "I4 address 10.0.1.2 of nobody",
      "I11 address nic_none",
      "I11 address.nic_id has no valid foreign key to nic",
    ],
  ],
  [
    "a VM number of another region",
    "update region_vmid set state = 'quarantined' where server_id = 'srv_out'; update region_vmid set state = 'used', server_id = 'srv_out' where region = 'r2' and vmid = 105",
    ["I3 srv_out has 0 VMIDs, 1 interfaces, 1 addresses", "I4 VMID 105 of srv_out"],
  ],
  [
    "a server on its way that no job brings there",
    "update job set status = 'cancelled', finished_at = now() where id = 'job_new'; select kule_queue_finish('job_new', 0); insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values ('aud_x', 'user', 'job.end', 'job_new', 'failed', 200, 'r')",
    ["I4 10.0.1.3 of srv_new", "I4 VMID 101 of srv_new", "I5 ip_new to srv_new", "I5 srv_new is creating"],
  ],
  [
    "a subnet without a VLAN",
    "update region_vlan set subnet_id = null where subnet_id = 'sub_r2'",
    ["I4 sub_r2 has 0 VLANs"],
  ],
  [
    "a VLAN of another region",
    "update region_vlan set subnet_id = null where subnet_id = 'sub_a'; update region_vlan set subnet_id = 'sub_a' where region = 'r2' and vlan = 107",
    ["I4 VLAN 107 of sub_a", "I4 sub_a has 0 VLANs", "I5 job_new has no VLAN"],
  ],
  [
    "an address outside of its subnet",
    "insert into address (subnet_id, address, organisation_id, state) values ('sub_a', '10.9.9.9', 'org_a', 'reserved')",
    ["I4 10.9.9.9 is not in 10.0.1.0/24"],
  ],
  [
    "a reservation without its address",
    "delete from address where reservation_id = 'rsv_a'",
    ["I4 rsv_a keeps no address"],
  ],
  [
    "a reservation of the gateway's address",
    "delete from address where reservation_id = 'rsv_a'; update address set reservation_id = 'rsv_a' where subnet_id = 'sub_a' and address = '10.0.1.1'",
    ["I4 rsv_a keeps 10.0.1.1"],
  ],
  [
    "a reservation of another subnet's address",
    "alter table address drop constraint address_reservation_once; delete from address where reservation_id = 'rsv_a'; update address set reservation_id = 'rsv_a' where reservation_id = 'rsv_b'",
    [
      "I4 rsv_a keeps 10.0.1.40",
      "I4 rsv_b keeps no address",
      "I10 address has 0 of 1 unique indexes of reservation_id",
      "I11 address rsv_a",
    ],
  ],
  [
    "an address that is kept for nobody",
    "update address set reservation_id = null where reservation_id = 'rsv_a'; delete from address_reservation where id = 'rsv_a'",
    ["I4 10.0.1.40 of sub_a"],
  ],
  [
    "a VM number outside of the region's range",
    "update region set vmid_first = 101 where slug = 'r1'",
    ["I4 r1 has 11 of 10 VMIDs, 1 outside"],
  ],
  [
    "a lost VM number",
    "delete from region_vmid where region = 'r2' and vmid = 105",
    ["I4 r2 has 10 of 11 VMIDs, 0 outside"],
  ],
  [
    "a lost VLAN",
    "delete from region_vlan where region = 'r2' and vlan = 105",
    ["I4 r2 has 10 of 11 VLANs, 0 outside"],
  ],
  [
    "a region without numbers",
    "insert into region (slug, name, vmid_first, vmid_last, vlan_first, vlan_last) values ('r4', 'R4', 100, 110, 100, 110)",
    ["I4 r4 has 0 of 11 VMIDs, 0 outside", "I4 r4 has 0 of 11 VLANs, 0 outside"],
  ],
  [
    "a free VM number that is somebody's",
    "update region_vmid set server_id = 'srv_gone' where region = 'r1' and vmid = 110",
    ["I4 VMID r1/110 is free and of srv_gone"],
  ],
  [
    "a VM number that rests for ever",
    "update region_vmid set free_after = null where state = 'tombstone'",
    ["I4 VMID r1/103 is tombstone and of srv_gone"],
  ],
  [
    "a VM number that nobody gives back",
    "update region_vmid set free_after = now() - interval '2 hours' where state = 'tombstone'",
    ["I4 VMID r1/103 is tombstone and of srv_gone"],
  ],
  [
    "an address that is out of reach",
    "update subnet set lowest_free_hint = '10.0.1.9' where id = 'sub_b'",
    ["I4 sub_b lost 5 addresses below 10.0.1.9"],
  ],
  [
    "a broadcast address that can be given out",
    "delete from address where subnet_id = 'sub_b' and address = '10.0.1.255'",
    ["I4 sub_b reserves 2 of its 3 addresses"],
  ],
  [
    "a domain that counts more record sets than it has",
    "update domain set record_count = 7 where id = 'dom_a'",
    ["I10 dom_a counts 7 of 2"],
  ],
  [
    "a record beside a CNAME",
    "insert into record_set (organisation_id, domain_id, name, type, ttl_seconds, values) values ('org_a', 'dom_a', 'www', 'CNAME', 300, '{x.}')",
    ["I10 dom_a counts 2 of 3", "I10 www of dom_a"],
  ],
  [
    "a record set that follows another server than its value names",
    "update record_set set server_id = 'srv_new' where server_id = 'srv_run'",
    ["I10 www A of dom_a"],
  ],
  [
    "a domain whose change nobody brings to the name servers",
    "update domain set generation = 4 where id = 'dom_a'",
    ["I14 dom_a (active) has 3 of 4"],
  ],
  [
    "a domain in transition without a job",
    "update domain set status = 'updating' where id = 'dom_a'",
    ["I14 dom_a (updating)"],
  ],
  [
    "a domain whose parent the organisation has no more",
    "update domain set verified_by = 'parent' where id = 'dom_a'",
    ["I11 a.example of org_a"],
  ],
  [
    "a domain that is removed before its time",
    "update domain set status = 'deleting', status_code = 'x', deletion_requested_at = now(), purge_at = now() + interval '1 day' where id = 'dom_a'",
    ["I13 dom_a"],
  ],
  [
    "a certificate without the material of its version",
    "update certificate set version = 2, last_version = 2 where id = 'cert_a'",
    ["I10 cert_a has version 2 and material of 1"],
  ],
  [
    "a managed certificate that nobody has issued",
    "update certificate set type = 'managed', challenge = 'dns', version = null where id = 'cert_b'",
    ["I10 cert_b has version none and material of 1", "I14 cert_b"],
  ],
  [
    "a key that nobody makes",
    "update certificate_order set step_at = now() - interval '1 hour' where certificate_id = 'cert_a'",
    ["I14 cert_a"],
  ],
  [
    "an answer for a CA that nobody asks",
    "delete from certificate_order where certificate_id = 'cert_a'",
    ["I14 cert_a in dom_a"],
  ],
  [
    "a reverse name that nobody is to serve",
    "update public_ip set ptr = 'web.example.org' where id = 'ip_run'",
    ["I4 203.0.113.2 of ip_run"],
  ],
  [
    "a reverse name by the pattern of a pool that nobody is to serve",
    "update ip_pool set reverse_name = '*.static.example.net' where id = 'pool_2'",
    ["I4 198.51.100.2 of ip_gwa", "I4 198.51.100.3 of ip_gwb"],
  ],
  [
    "a reverse name by a pattern that the pool has no more",
    "insert into public_pointer (address, wanted) values ('203.0.113.2', '203-0-113-2.static.example.net')",
    ["I4 203.0.113.2 of ip_run"],
  ],
  [
    "a reverse name of an address that was released",
    "insert into public_pointer (address, wanted) values ('203.0.113.99', 'web.example.org')",
    ["I4 203.0.113.99 of nobody"],
  ],
  [
    "a lost public address",
    "delete from public_address where address = '203.0.113.6'",
    ["I4 rng_1 has 7 of 8 addresses, 0 outside"],
  ],
  [
    "a public address outside of its range",
    "update public_address set address = '203.0.113.9' where address = '203.0.113.6'",
    ["I4 rng_1 has 8 of 8 addresses, 1 outside"],
  ],
  [
    "a public IP whose address is free",
    "update public_address set state = 'free', public_ip_id = null where public_ip_id = 'ip_run'",
    ["I4 ip_run without 203.0.113.2"],
  ],
  [
    "a public IP whose address is another organisation's",
    "update public_address set allocated_to = 'org_b' where public_ip_id = 'ip_run'",
    ["I4 ip_run without 203.0.113.2"],
  ],
  [
    "a used public address of nothing",
    "alter table public_address drop constraint public_address_allocated_to_public_ip_id_fkey; delete from public_ip where id = 'ip_run'",
    ["I4 203.0.113.2 of ip_run"],
  ],
  [
    "a public IP of a server that is gone",
    "update public_ip set held_by = 'srv_gone' where id = 'ip_out'",
    ["I4 ip_out of srv_gone", "I5 ip_out off srv_gone"],
  ],
  [
    "a gateway that can be given out",
    "update public_address set state = 'free' where address = '203.0.113.1'",
    ["I4 203.0.113.1 of pool_1"],
  ],
  [
    "a network and a broadcast address that can be given out",
    "update public_address set state = 'free' where address in ('203.0.113.0', '203.0.113.7')",
    ["I4 203.0.113.0 of pool_1", "I4 203.0.113.7 of pool_1"],
  ],
  [
    "a way out of a data subnet",
    "update subnet set tier = 'data' where id = 'sub_a'",
    ["I4 ip_new of srv_new", "I4 ip_run of srv_run", "I4 sub_a by gw_a"],
  ],
  [
    "a public IP that no job attaches",
    "update public_ip set is_applied = false where id = 'ip_run'",
    ["I5 ip_run to srv_run"],
  ],
  [
    "a public IP that no job detaches",
    "update public_ip set is_applied = false, server_id = null where id = 'ip_run'",
    ["I5 ip_run off srv_run"],
  ],
  [
    "an open job without its server",
    "update job set resource_id = 'srv_none' where id = 'job_new'; update job set resource_id = 'srv_new' where id = 'job_run'",
    [
      "I4 10.0.1.3 of srv_new",
      "I4 VMID 101 of srv_new",
      "I5 ip_new to srv_new",
      "I5 job_new for srv_none",
      "I5 job_new has no VMID, interface, address, VLAN",
      "I5 srv_new is creating",
      "I11 job srv_none",
    ],
  ],
  [
    "an open job of a network that is not there",
    "update job set resource_type = 'network' where id = 'job_new'",
    ["I5 job_new for srv_new"],
  ],
  [
    "an open job of a subnet that is not there",
    "update job set resource_type = 'subnet' where id = 'job_new'",
    ["I5 job_new for srv_new"],
  ],
  [
    "an open job whose VM number is gone",
    "update region_vmid set state = 'quarantined' where server_id = 'srv_new'",
    ["I3 srv_new has 0 VMIDs, 1 interfaces, 1 addresses", "I5 job_new has no VMID"],
  ],
  [
    "an open job whose interface is gone",
    "delete from address where nic_id = 'nic_new'; delete from nic where id = 'nic_new'",
    [
      "I3 srv_new has 1 VMIDs, 0 interfaces, 0 addresses",
      "I4 sub_a lost 1 addresses below 10.0.1.4",
      "I5 job_new has no interface, address, VLAN",
    ],
  ],
  [
    "an open job whose VLAN is gone",
    "update region_vlan set subnet_id = null where subnet_id = 'sub_a'",
    ["I4 sub_a has 0 VLANs", "I5 job_new has no VLAN"],
  ],
  [
    "a create for a server that is made",
    "update server set status = 'stopped' where id = 'srv_new'; delete from server_secret",
    ["I5 job_new (ServerCreate) of srv_new, which is stopped"],
  ],
  [
    "a stop for a server that was kept",
    "update server set status = 'error' where id = 'srv_stop'",
    ["I5 job_stop (ServerStop) of srv_stop, which is error"],
  ],
  [
    "what a resize took along and nobody gave back",
    "update server set resize_package = 'm', resize_disk_gb = 80 where id = 'srv_new'",
    ["I5 srv_new takes m along"],
  ],
  [
    "a restore of a server that is going",
    "update job set kind = 'ServerRestore' where id = 'job_stop'",
    ["I5 job_stop (ServerRestore) of srv_stop, which is pending_deletion"],
  ],
  [
    "a destroy of a server in the buffer",
    "update job set kind = 'ServerDestroy' where id = 'job_stop'",
    [
      "I5 job_stop (ServerDestroy) of srv_stop, which is pending_deletion",
      "I13 job_stop for srv_stop (pending_deletion)",
    ],
  ],
  [
    "a server that is stopped by no job",
    "update server set status = 'stopping' where id = 'srv_out'",
    ["I4 10.0.1.2 of srv_out", "I4 VMID 102 of srv_out", "I5 srv_out is stopping"],
  ],
  [
    "a server that is destroyed by no job",
    "update server set status = 'deleting' where id = 'srv_out'",
    ["I4 10.0.1.2 of srv_out", "I4 VMID 102 of srv_out", "I5 srv_out is deleting"],
  ],
  [
    "a network that is made by no job",
    "update network set status = 'provisioning' where id = 'net_r2'",
    ["I5 net_r2 is provisioning"],
  ],
  [
    "a subnet that is removed by no job",
    "update subnet set status = 'deleting' where id = 'sub_r2'",
    ["I5 sub_r2 is deleting"],
  ],
  [
    "a server in the buffer that does not know until when",
    "alter table server drop constraint server_check; alter table server drop constraint if exists server_check1; update server set purge_at = null where id = 'srv_out'",
    ["I5 srv_out"],
  ],
  [
    "a server whose buffer ended long ago",
    "update server set purge_at = now() - interval '1 hour' where id = 'srv_out'",
    ["I5 srv_out"],
  ],
  ["a job that is not in the queue", "select kule_queue_finish('job_new', 0)", ["I5 not queued: job_new"]],
  [
    "a job in the queue of another region",
    "select graphile_worker.add_job('region:r2', '{}', job_key => 'job_new')",
    ["I5 not queued: job_new"],
  ],
  [
    "a job that is queued for an agent although its region has none",
    "update region set mode = 'direct' where slug = 'r1'",
    ["I5 not queued: job_new", "I5 not queued: job_stop"],
  ],
  [
    "a queue entry whose job has ended",
    "update job set status = 'cancelled', finished_at = now(), lease_until = null where id = 'job_stop'; insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values ('aud_x', 'user', 'job.end', 'job_stop', 'failed', 200, 'r'); update job_step set status = 'failed' where job_id = 'job_stop'",
    ["I5 queued though ended: job_stop"],
  ],
  [
    "a queue entry that a former claim holds",
    "update graphile_worker._private_jobs set locked_by = 'job_stop/0' where key = 'job_stop'",
    ["I5 held by job_stop/0: job_stop"],
  ],
  [
    "a waiting job whose queue entry is held",
    "select kule_queue_lock('job_new', 1)",
    ["I5 held by job_new/1: job_new"],
  ],
  [
    "a lease that passed long ago",
    "update job set lease_until = now() - interval '1 hour' where id = 'job_stop'",
    ["I6 job_stop"],
  ],
  [
    "a job that an agent leaves lying",
    "update job set run_at = now() - interval '1 hour' where id = 'job_new'",
    ["I6 job_new in r1"],
  ],
  [
    "a step of an epoch to come",
    "insert into job_step (job_id, organisation_id, epoch, seq, attempt, phase, name, status) values ('job_run', 'org_a', 3, 1, 3, 'apply', 'x', 'succeeded')",
    ["I7 job_run epoch 3 report 1"],
  ],
  [
    "a step that a former holder began",
    "update job_step set started_at = now(), finished_at = null where epoch = 1 and job_id = 'job_run'",
    ["I7 job_run epoch 1 after 2"],
  ],
  [
    "a step that a former holder ended",
    "update job_step set finished_at = now() where epoch = 1 and job_id = 'job_run'",
    ["I7 job_run epoch 1 after 2"],
  ],
  [
    "a step that a former holder is still at",
    "update job_step set status = 'running', finished_at = null where epoch = 1 and job_id = 'job_run'",
    ["I7 job_run epoch 1 step clone"],
  ],
  [
    "a step of an ended job that is still under way",
    "update job_step set status = 'running' where epoch = 2 and job_id = 'job_run'",
    ["I7 job_run epoch 2 step look"],
  ],
  [
    "a step beyond the last report",
    "update job set last_seq = 0 where id = 'job_stop'",
    ["I7 job_stop epoch 1 report 1"],
  ],
  [
    "a running job that nobody claimed",
    "update job set epoch = 0, attempt = 0, last_seq = 0 where id = 'job_stop'; delete from job_step where job_id = 'job_stop'; select kule_queue_lock('job_stop', 0)",
    ["I7 job_stop"],
  ],
  ["more attempts than claims", "update job set attempt = 3 where id = 'job_run'", ["I7 job_run"]],
  [
    "an ended job without an audit row",
    "delete from audit where id = 'aud_5'",
    ["I9 job_gone ended 1 times, the trail says 0"],
  ],
  [
    "an end that is in the audit trail twice",
    "insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values ('aud_x', 'agent', 'job.end', 'job_gone', 'succeeded', 200, 'r')",
    ["I9 job_gone ended 1 times, the trail says 2"],
  ],
  [
    "an open job that ended in the audit trail",
    "insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values ('aud_x', 'agent', 'job.end', 'job_new', 'succeeded', 200, 'r')",
    ["I9 job_new ended 0 times, the trail says 1"],
  ],
  [
    "a sealed row of the audit trail that was changed",
    "insert into audit_break (number, reason, position, audit_id) values (1, 'row_changed', 7, 'aud_7')",
    ["I12 row_changed aud_7 at position 7"],
  ],
  [
    "a sealed audit trail that nobody verifies",
    "insert into audit_seal_head (position, mac, up_to, key_id, head_mac) values (1, '', now(), 'k1', ''); insert into audit_verification (checked_at, sealed_rows) values ('2026-01-01', 1)",
    ["I12 not verified since T"],
  ],
  [
    "a console session that nobody holds any more",
    "update console_session set redeemed_at = now() - interval '16 minutes'",
    ["console-ended con_1 of srv_run is open"],
  ],
  [
    "a ticket that ran out and was not closed",
    "update console_session set state = 'ticketed', replica_id = null, ticket_hash = '', ticket_expires_at = now() - interval '16 minutes'",
    ["console-ended con_1 of srv_run is ticketed"],
  ],
  [
    "a serial line that two have",
    `insert into replica (id, address, secret, seen_at) values ('rep_1', '', '', now());
     insert into console_session select (json_populate_record(c, '{"id":"con_2","claim_id":"c10"}')).* from console_session c`,
    ["I10 serial line of srv_run"],
  ],
  [
    "a console session that began and ended unnoted",
    "update console_session set state = 'closed', redeemed_at = now(), opened_at = now(), closed_at = now(), end_reason = 'closed'",
    ["I9 con_1 began 1 and ended 1 times, the trail says 0 and 0"],
  ],
  [
    "a server that is started twice in usage",
    usage("server.started"),
    [
      "I9 srv_run server.started after server.started, at 8",
      "I9 srv_run is running with power on; usage has 1 disks, 2 runs, 0 purges",
      "I9 srv_run compute has a segment from T that ends at no time and not at T",
      "I9 srv_run compute has no segment from T",
    ],
  ],
  [
    "a server that stops before it starts in usage",
    usage("server.stopped", "srv_new"),
    [
      "I9 srv_new server.stopped first, at 8",
      "I9 srv_new is creating with power unknown; usage has 0 disks, -1 runs, 0 purges",
    ],
  ],
  [
    "a server that runs and is not counted",
    usage("server.stopped"),
    [
      "I9 srv_run is running with power on; usage has 1 disks, 0 runs, 0 purges",
      "I9 srv_run compute has a segment from T that ends at no time and not at T",
    ],
  ],
  [
    "a server that is off and still counted",
    "update server set power_state = 'off' where id = 'srv_run'",
    ["I9 srv_run is running with power off; usage has 1 disks, 1 runs, 0 purges"],
  ],
  [
    "a server that was made and has no disk in usage",
    "update server set observed_generation = 1 where id = 'srv_out'",
    ["I9 srv_out is pending_deletion with power off; usage has 0 disks, 0 runs, 0 purges"],
  ],
  [
    "a server that is gone and was not purged in usage",
    "update usage_event set kind = 'server.purge_scheduled' where id = 'use_4'",
    ["I9 srv_gone is deleted with power off; usage has 0 disks, 0 runs, 0 purges"],
  ],
  [
    "a server that is purged in usage and there",
    usage("server.purged"),
    ["I9 srv_run is running with power on; usage has 1 disks, 1 runs, 1 purges"],
  ],
  [
    "a segment that was never closed",
    `${usage("server.stopped")} update server set power_state = 'off' where id = 'srv_run';
     update usage_segment set ended_at = null, closed_by = null where kind = 'compute'`,
    [`I9 srv_run compute has a segment from T that ends at no time and not at T`],
  ],
  [
    "a segment that no event opened",
    `insert into usage_segment (id, organisation_id, region, resource_type, resource_id, resource_name, kind, quantity,
                                labels, started_at, opened_by)
     values ('seg_x', 'org_a', 'r1', 'server', 'srv_out', 'out', 'disk', '{}', '{}', now(), 'use_1')`,
    ["I9 srv_out disk has a segment from T that no event opened"],
  ],
  [
    "a segment that is gone",
    "delete from usage_segment where kind = 'disk'",
    [
      "I9 srv_run disk has no segment from T",
      "I9 srv_slot1 disk has no segment from T",
      "I9 srv_web disk has no segment from T",
      "I11 usage_event seg_1_disk",
    ],
  ],
  ["a gap in usage", "delete from usage_event where id = 'use_3'", ["I9 org_b counts 4, has 3 up to 4"]],
  [
    "a usage number that was never given",
    "update usage_event set seq = 9 where id = 'use_4'",
    ["I9 org_b counts 4, has 4 up to 9"],
  ],
  [
    "overlapping subnets",
    `alter table subnet drop constraint subnet_cidr_overlap; update subnet set network_id = 'net_a', name = 'x', organisation_id = 'org_a', cidr = '10.0.0.0/16' where id = 'sub_b'`,
    [
      "I4 10.0.1.0 of sub_b",
      "I4 10.0.1.255 of sub_b",
      "I4 sub_b lost 256 addresses below 10.0.1.4",
      "I4 sub_b reserves 1 of its 3 addresses",
      "I4 sub_b by gw_b",
      "I10 sub_a overlaps sub_b",
      "I11 nic sub_b",
      "I11 address sub_b",
      "I11 address_reservation sub_b",
      "I11 gateway_subnet sub_b",
    ],
  ],
  [
    "a destroy job before the buffer has ended",
    "update server set purge_at = now() + interval '1 hour' where id = 'srv_gone'",
    ["I13 job_gone for srv_gone (deleted)"],
  ],
  [
    "a destroy job for a server that was kept",
    "update server set status = 'stopped', deleted_at = null where id = 'srv_gone'",
    [
      "I3 srv_gone has 0 VMIDs, 0 interfaces, 0 addresses",
      "I9 srv_gone is stopped with power off; usage has 0 disks, 0 runs, 1 purges",
      "I13 job_gone for srv_gone (stopped)",
    ],
  ],
  [
    "a server that is gone and was never destroyed",
    "update job set kind = 'ServerStop' where id = 'job_gone'",
    ["I13 srv_gone"],
  ],
  [
    "a server whose filter nobody brings",
    "update server set filter_wanted = 'flt_2' where id = 'srv_run'",
    ["I5 srv_run has flt_1 and is to have flt_2"],
  ],
  [
    "a network in force that its edge was not told of as it is",
    "update network set generation = 7, edge_generation = 7 where id = 'net_r2'",
    ["I14 net_r2 has 1 of 7"],
  ],
  [
    "a network in force that its edge does not hold",
    `update network set on_edge = true, applied_at = now() - interval '3 minutes' where region = 'r2';
     update region set has_edge = true, edge_at = now(), edge = '{"reachable": true, "networks": ["net_other"]}' where slug = 'r2'`,
    ["I14 net_r2 in r2"],
  ],
  [
    "a gateway without its address",
    "update public_ip set gateway_id = null where id = 'ip_gwa'",
    ["I4 gw_a has 0 addresses"],
  ],
  [
    "a gateway's address that a server has, too",
    "alter table public_ip drop constraint public_ip_of_one; update public_ip set server_id = 'srv_stop', held_by = 'srv_stop', status_code = 'x' where id = 'ip_gwb'",
    ["I4 gw_b has 0 addresses"],
  ],
  [
    "a data subnet that is served",
    "update subnet set tier = 'data' where id = 'sub_b'",
    ["I4 sub_b by gw_b"],
  ],
  [
    "a served subnet of another network",
    "update gateway_subnet set network_id = 'net_r2' where subnet_id = 'sub_b'",
    ["I4 sub_b by gw_b", "I11 gateway_subnet net_r2"],
  ],
  [
    "a port that is forwarded into a subnet that is not served",
    "delete from gateway_subnet where subnet_id = 'sub_a'",
    ["I4 pf_a into sub_a"],
  ],
  [
    "a port that is forwarded longer than its subnet is served",
    "update gateway_subnet set left_generation = 2 where subnet_id = 'sub_a'; update gateway set observed_generation = 0, status_code = 'x' where id = 'gw_a'",
    ["I4 pf_a into sub_a"],
  ],
  [
    "a port that is forwarded to another server",
    "update port_forward set target_address = '10.0.1.3'",
    ["I4 pf_a to 10.0.1.3"],
  ],
  [
    "a port on its way out that is forwarded to another server",
    "update port_forward set target_address = '10.0.1.3', left_generation = 2; update gateway set observed_generation = 0, status_code = 'x' where id = 'gw_a'",
    ["I4 pf_a to 10.0.1.3"],
  ],
  [
    "a gateway that nobody brings to its edge",
    "update gateway set generation = 2 where id = 'gw_b'",
    ["I5 gw_b"],
  ],
  [
    "a gateway that nobody takes away",
    "update gateway set is_deleting = true where id = 'gw_b'",
    ["I5 gw_b"],
  ],
  [
    "a forwarded port that is in force nowhere",
    "update port_forward set is_applied = false",
    ["I5 pf_a of gw_a"],
  ],
  [
    "a firewall of a server that is gone",
    "insert into firewall_attachment (id, organisation_id, region, firewall_id, server_id) values ('fwa_x', 'org_b', 'r1', 'fw_b', 'srv_gone')",
    ["I4 fwa_x of srv_gone"],
  ],
  [
    "a machine that another product manages",
    "update server set managed_by_type = 'cluster', managed_by_id = 'k8s_x' where id = 'srv_slot1'",
    ["I4 lb_a has srv_slot1 in slot 1"],
  ],
  [
    "a load balancer without one of its two machines",
    "delete from load_balancer_machine where slot = 2",
    ["I4 lb_a has 1 machines"],
  ],
  [
    "a server of a load balancer that is gone",
    "update load_balancer_machine set server_id = null where slot = 1; update server set managed_by_id = 'lb_none' where id = 'srv_slot1'; delete from load_balancer_sight",
    ["I4 srv_slot1 of lb_none"],
  ],
  [
    "two machines without a shared address",
    "delete from address where load_balancer_id = 'lb_a'",
    ["I4 lb_a shares nothing"],
  ],
  [
    "a public address of a load balancer that one of its servers has",
    "alter table public_ip drop constraint public_ip_of_one; update public_ip set server_id = 'srv_slot1', held_by = 'srv_slot1', is_applied = true where id = 'ip_lb'",
    ["I4 lb_a has ip_lb"],
  ],
  [
    "a public address that its load balancer's servers may not use",
    "update public_ip set load_balancer_id = null where id = 'ip_lb'",
    ["I4 lb_a has ip_lb"],
  ],
  [
    "a public address of a load balancer that does not have it",
    "update load_balancer set public_ip_id = null where id = 'lb_a'",
    ["I4 ip_lb of lb_a"],
  ],
  [
    "a way out of a data subnet by a load balancer",
    "update subnet set tier = 'data' where id = 'sub_r3'",
    ["I4 ip_lb of lb_a"],
  ],
  [
    "a machine with a state that nobody wanted",
    "update load_balancer_machine set observed_generation = 3 where slot = 1",
    ["I4 lb_a in slot 1"],
  ],
  [
    "a load balancer that nobody brings to its machines",
    "update load_balancer set observed_generation = 0, failure = null, failure_job_id = null",
    ["I5 lb_a"],
  ],
  [
    "a package that a server takes along to nowhere",
    "update server set resize_package = 'l', resize_disk_gb = 160 where id = 'srv_run'",
    ["I5 srv_run takes l along"],
  ],
  [
    "a password that nobody needs any more",
    "insert into server_secret (server_id, organisation_id, password_hash) values ('srv_run', 'org_a', 'x')",
    ["secret-kept srv_run"],
  ],
  [
    "a second VM of a server",
    look(seenRun, "(109, 'srv_run', 'org_a')"),
    ["I1 srv_run: VMs 100, 109", "I2 VM 109 of r1 is marked for srv_run"],
  ],
  [
    "a VM of no server",
    look(seenRun, "(109, 'srv_none', 'org_a')"),
    ["I2 VM 109 of r1 is marked for srv_none"],
  ],
  [
    "a server's VM that is not there",
    look("(102, 'srv_out', 'org_b')"),
    ["I3 srv_run (running) has no VM 100"],
  ],
  [
    "a server's VM that was changed",
    `${look(seenRun)} update drift set sightings = 2, last_seen_at = now() + interval '1 hour' where id = 'drf_1'`,
    ["I3 srv_run, VM 100: m"],
  ],
  [
    "a VM that went before its removal was due",
    `${look("(102, 'srv_out', 'org_b')")}
     update server set status = 'pending_deletion', purge_at = now() + interval '1 day', restores_to = 'running'
      where id = 'srv_run'`,
    ["I13 srv_run has no VM 100 before T"],
  ],
  [
    "a job for a server of others",
    "update job set organisation_id = 'org_b' where id = 'job_new'",
    ["I11 job srv_new"],
  ],
  [
    "an interface in another region",
    `update nic set subnet_id = 'sub_r2' where id = 'nic_run'`,
    ["I11 nic sub_r2"],
  ],
];

/** Rows as they would be without their unique indexes: every row of the table that the fact is about, twice. */
async function doubleRows(table: string, where = "true"): Promise<void> {
  const { rows: keys } = await owner.query<{ sql: string }>(
    `select case when con.oid is null then 'drop index ' || i.indexrelid::regclass
                 else 'alter table ' || i.indrelid::regclass || ' drop constraint ' || quote_ident(con.conname) || ' cascade' end as sql
       from pg_index i left join pg_constraint con on con.conindid = i.indexrelid and con.contype in ('p', 'u', 'x')
      where i.indrelid = $1::regclass and (i.indisunique or i.indisexclusion)`,
    [table],
  );
  for (const { sql } of keys) await owner.query(sql);
  const { rows: columns } = await owner.query<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  const list = columns.map(({ name }) => name).join(", ");
  await owner.query(
    `insert into ${table} (${list}) overriding system value select ${list} from ${table} where ${where}`,
  );
}

describe("in the database the check finds", () => {
  it.each(planted)("%s", async (_what, sql, expected) => {
    await owner.query(sql);
    await countAgain();
    expect(await found()).toEqual(expected);
    await expectSlicesToFindTheSame();
  });

  it("counts of quotas that miss a server, or count a key twice", async () => {
    await owner.query(`delete from quota_count where resource = 'server' and package = (select package from server where id = 'srv_run');
      insert into quota_count (organisation_id, resource, amount) values ('org_b', 'ssh_key', 1)`);
    const subjects = await found();
    expect(subjects.length).toBeGreaterThan(1);
    expect(
      subjects.filter((subject) => !/^I9 org_[a-z] (has|counts) \d+ (server|ssh_key)/.test(subject)),
    ).toEqual([]);
    await countAgain();
    expect(await found()).toEqual([]);
  });

  it("balances of usage that miss a segment, or have one that is not there", async () => {
    await owner.query(`update organisation set usage_balanced_until = 'infinity' where id = 'org_b';
      insert into usage_balance values ('org_a', '', '', 'r1', 'compute', 's', '2026-01-01', true, 1, 0, 1, 1, 1, 1, 1)`);
    const subjects = await found();
    expect(subjects.filter((subject) => / org_a has on /.test(subject)).length).toBe(1);
    expect(subjects.filter((subject) => / org_b should have on /.test(subject)).length).toBeGreaterThan(0);
    expect(subjects.filter((subject) => !/^I9 org_[a-z] (has|should have) on /.test(subject))).toEqual([]);
    await owner.query("select kule_rebalance_usage(id) from organisation");
    expect(await found()).toEqual([]);
  });

  it("counts of a pool that miss an address, or have one too many", async () => {
    await owner.query(`insert into public_address_count
      select pool_id, state, is_allocated, -1 from public_address_due where state = 'used' limit 1;
      insert into public_address_count select id, 'reserved', false, 7000 from ip_pool limit 1`);
    const subjects = await found();
    expect(subjects.length).toBeGreaterThan(1);
    expect(
      subjects.filter((subject) => !/^I9 pool_\w+ (has|counts) \d+ (used|reserved)/.test(subject)),
    ).toEqual([]);
    await countAgain();
    expect(await found()).toEqual([]);
  });

  it("a server that has a key and is not noted, and one that is noted and has none", async () => {
    await owner.query(`delete from ssh_key_use;
      update server set ssh_key_ids = '{key_noted}' where id = 'srv_run';
      insert into ssh_key_use select organisation_id, 'key_other', created_at, id from server where id = 'srv_run';
      delete from ssh_key_use where ssh_key_id = 'key_noted'`);
    expect(await found()).toEqual(
      expect.arrayContaining(["I9 srv_run has key_noted", "I9 srv_run is said to have key_other"]),
    );
    await countAgain();
    expect(await found()).toEqual([]);
  });

  it.each(uniqueFacts)("$what twice in $table", async ({ what, table, where }) => {
    await doubleRows(table, where);
    expect(await found()).toContainEqual(expect.stringMatching(`^I10 ${what} `));
  });

  it.each(ownershipPairs)(
    "$child: $column of another organisation, and one that is not there",
    async ({ child, column, where }) => {
      const isChild = `${column} = (select min(${column}) from ${child}${where === undefined ? "" : ` c where ${where}`})`;
      const expected = expect.stringMatching(`^I11 ${child} `);
      await owner.query("savepoint whole");
      await owner.query(`update ${child} set organisation_id = 'org_c' where ${isChild}`);
      expect(await found()).toContainEqual(expected);
      await owner.query("rollback to savepoint whole");
      await owner.query(`update ${child} set ${column} = 'none' where ${isChild}`);
      expect(await found()).toContainEqual(expected);
    },
  );

  it("something for each of its checks, in the tests above", () => {
    const checks = databaseChecks.map(({ check }) => check);
    expect(checks.filter((check) => !caught.has(check))).toEqual([]);
    expect(new Set(checks).size).toBe(checks.length);
  });
});

describe("the check accepts", () => {
  it.each<readonly [what: string, sql: string]>([
    ["a quiet world", ""],
    [
      "a job that waits in a region whose agent is silent",
      "update job set run_at = now() - interval '1 hour' where id = 'job_new'; update region set health_at = now() - interval '5 minutes'",
    ],
    [
      "a job that waits in a region that is not well",
      "update job set run_at = now() - interval '1 hour' where id = 'job_new'; update region set health_ok = false",
    ],
    [
      "a job that waits in a region that has been well for a minute",
      "update job set run_at = now() - interval '1 hour' where id = 'job_new'; update region set status_since = now() - interval '1 minute'",
    ],
    [
      "a job that waits in a region that is being mended",
      "update job set run_at = now() - interval '1 hour' where id = 'job_new'; update region set maintenance = true",
    ],
    [
      "a stop that still runs when the buffer has ended",
      "update server set status = 'deleting' where id = 'srv_stop'; insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id) values ('job_x', 'org_b', 'r1', 'ServerDestroy', 'server', 'srv_stop', '{}', 'r'); update server set purge_at = now() - interval '1 second' where id = 'srv_stop'; select kule_queue_add('job_x')",
    ],
    [
      "a running job that was asked to stop",
      "update job set cancel_requested = true where id = 'job_stop'; update server set status = 'error', purge_at = null where id = 'srv_stop'",
    ],
    [
      "a destroy that failed and keeps its server's allocations",
      `update server set status = 'deleting', purge_at = now() - interval '1 hour' where id = 'srv_out';
       insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, epoch, attempt, finished_at, requested_by, request_id)
       values ('job_x', 'org_b', 'r1', 'ServerDestroy', 'server', 'srv_out', 'failed', 8, 8, now(), '{}', 'r');
       insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values ('aud_x', 'agent', 'job.end', 'job_x', 'failed', 200, 'r')`,
    ],
    [
      "a look that is under way",
      `${look(seenRun)} update region_vm set pass = 8 where region = 'r1'; update region_inventory set pass = 8 where region = 'r1'`,
    ],
  ])("%s", async (_what, sql) => {
    if (sql !== "") await owner.query(sql);
    await countAgain();
    expect(await found()).toEqual([]);
  });
});

describe("a slice", () => {
  it.each(sliced)("of one value has no violation that the whole has not: $check", async ({ by, sql }) => {
    if (by === undefined) throw new Error("not read in slices");
    const { table, column } = keys[by];
    const { rows } = await owner.query<{ value: string }>(
      `select distinct ${column} as value from ${table} where ${column} is not null`,
    );
    for (const { value } of rows) expect(await placesIn(sql, { values: [value] }), value).toEqual([]);
    for (const { value } of rows) expect(await placesIn(sql, { from: "", to: value }), value).toEqual([]);
    for (const { value } of rows) expect(await placesIn(sql, { from: value, to: null }), value).toEqual([]);
  });
});

describe("the lists of the checks contain", () => {
  it("every pair of tables that a key with the organisation joins", async () => {
    const { rows } = await owner.query(`
      select con.conrelid::regclass::text as child, a.attname as column, con.confrelid::regclass::text as parent
        from pg_constraint con, unnest(con.conkey, con.confkey) k (child, parent), pg_attribute a, pg_class child,
             pg_class parent
       where con.contype = 'f' and a.attrelid = con.conrelid and a.attnum = k.child and child.oid = con.conrelid
         and parent.oid = con.confrelid and child.relforcerowsecurity and parent.relforcerowsecurity
         -- What else is in a key says which kind of parent it is, or by whom a child has it.
         and exists (select 1 from pg_attribute p
                      where p.attrelid = con.confrelid and p.attnum = k.parent and p.attname = 'id')`);
    const listed = ownershipPairs.map(({ child, column, parent }) => ({ child, column, parent }));
    expect(listed).toEqual(expect.arrayContaining(rows));
    expect(rows.length).toBeGreaterThan(7);
  });

  it("every unique index of what regions and organisations own", async () => {
    const { rows } = await owner.query<{ at: string }>(`
      select i.indrelid::regclass || ' ' || string_agg(a.attname, ', ' order by k.position) as at
        from pg_index i join pg_class c on c.oid = i.indrelid and c.relnamespace = 'public'::regnamespace,
             unnest(i.indkey) with ordinality k (number, position), pg_attribute a
       where i.indisunique and a.attrelid = i.indrelid and a.attnum = k.number and not exists (
               -- Ids are made by us; a key around an id is there for the foreign keys that point to it.
               select 1 from unnest(i.indkey) n, pg_attribute id
                where id.attrelid = i.indrelid and id.attnum = n and id.attname = 'id')
       group by i.indrelid, i.indexrelid order by 1`);
    const listed = new Set(uniqueFacts.map(({ table, columns }) => `${table} ${columns.join(", ")}`));
    const missing = rows.map(({ at }) => at).filter((at) => !listed.has(at));
    expect(missing).toEqual([
      "acme_account directory_url",
      "agent_rollout_region rollout_id, position",
      "agent_rollout_region rollout_id, region",
      "agent_update_settings singleton",
      "audit_break number",
      "audit_seal audit_at, audit_id",
      "audit_seal position",
      "audit_seal_head singleton",
      "audit_seal_start singleton",
      "audit_verification singleton",
      "certificate_order organisation_id, certificate_id",
      "certificate_version organisation_id, certificate_id, version",
      "domain_challenge organisation_id, domain_id, certificate_id, name, value",
      "held_vm region, vmid",
      "idempotency_key organisation_id, subject, method, path, key",
      "invariant_report singleton",
      "kule_migration name",
      "listener_certificate listener_id, certificate_id",
      "load_balancer_machine organisation_id, load_balancer_id, slot",
      "load_balancer_sight load_balancer_id, slot",
      "load_balancer_traffic load_balancer_id, hour, listener_id",
      "password_reset user_id",
      "public_pointer address",
      "record_set organisation_id, domain_id, name, type",
      "region slug",
      "region_agent region, token_id, name",
      "region_organisation region, organisation_id",
      "server_secret server_id",
      "ssh_key_use organisation_id, ssh_key_id, created_at, server_id",
      "usage_balance organisation_id, label_key, label_value, region, kind, package, day",
    ]);
    expect(rows.length).toBeGreaterThan(20);
  });
});
