import {
  legalAtEdge,
  withoutForwarding,
  withoutGateway,
  withoutNetworkJob,
  withoutOpenSubnet,
} from "./edge-attempts.ts";
import { destroyed, endJob } from "./statements.ts";

/** Statements that each are in order for themselves, and the rule that their COMMIT breaks. */
export type Attempt = { readonly what: string; readonly sql: string; readonly breaks: string };

const newServer = (id: string, status: string, more = "") =>
  `insert into server (id, organisation_id, region, name, status, image, package${more === "" ? "" : ", deleted_at"})
   values ('${id}', {org}, 'ist1', '${id}', '${status}', 'debian-13', 's'${more});`;
const vmidFor = (id: string) =>
  `update region_vmid set state = 'used', server_id = '${id}' where region = 'ist1' and vmid = 20900;`;
const nicFor = (id: string, subnet = "{subnet}") =>
  `insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
   values ('nic_${id}', {org}, 'ist1', '${id}', ${subnet}, '0a:00:00:00:99:99');`;
const addressFor = (id: string, address = "gateway_ip + 90") =>
  `insert into address (subnet_id, address, organisation_id, state, nic_id)
   select id, ${address}, organisation_id, 'used', 'nic_${id}' from subnet where id = {subnet};`;
const jobFor = (id: string, kind = "ServerCreate", more: { org?: string; region?: string } = {}) =>
  `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
   values ('job_${kind}_x', ${more.org ?? "{org}"}, '${more.region ?? "ist1"}', '${kind}', 'server', ${id}, '{}', 'req_x');`;
const whole = (id: string) => `${newServer(id, "creating")}${vmidFor(id)}${nicFor(id)}${addressFor(id)}`;

/** "No address without a job": everything exists except the job, or the job is deleted and the rest stays. */
const withoutJob: readonly Attempt[] = [
  { what: "a create without its job", sql: whole("srv_x"), breaks: "server_kept" },
  {
    what: "a create with a job of another kind",
    sql: `${whole("srv_x")}${jobFor("'srv_x'", "ServerStop")}`,
    breaks: "server_kept",
  },
  { what: "a create whose job ends alone", sql: endJob("{creating_job}"), breaks: "server_kept" },
  {
    what: "a create whose job is done and whose server goes on waiting",
    sql: endJob("{creating_job}", "succeeded"),
    breaks: "server_kept",
  },
  {
    what: "a restore whose job is cancelled alone",
    sql: endJob("{restoring_job}", "cancelled"),
    breaks: "server_kept",
  },
  {
    what: "a destroy whose job is cancelled alone",
    sql: endJob("{leaving_job}", "cancelled"),
    breaks: "server_kept",
  },
  {
    what: "a destroy whose job is done and whose server stays",
    sql: endJob("{leaving_job}", "succeeded"),
    breaks: "server_kept",
  },
  ...["creating", "starting", "stopping", "deleting"].map((status) => ({
    what: `a running server that is ${status} with no job`,
    sql: `update server set status = '${status}' where id = {running};`,
    breaks: "server_kept",
  })),
  {
    what: "a marked server that is deleting with no job",
    sql: "update server set status = 'deleting' where id = {marked};",
    breaks: "server_kept",
  },
];

/** "No job without its allocation": a part is missing from the start, or is removed. */
const withoutAllocation: readonly Attempt[] = [
  {
    what: "a create without a VM number",
    sql: `${newServer("srv_x", "creating")}${nicFor("srv_x")}${addressFor("srv_x")}${jobFor("'srv_x'")}`,
    breaks: "server_kept",
  },
  {
    what: "a create without an interface",
    sql: `${newServer("srv_x", "creating")}${vmidFor("srv_x")}${jobFor("'srv_x'")}`,
    breaks: "server_kept",
  },
  {
    what: "a create without an address",
    sql: `${newServer("srv_x", "creating")}${vmidFor("srv_x")}${nicFor("srv_x")}${jobFor("'srv_x'")}`,
    breaks: "server_kept",
  },
  { what: "a running server with nothing at all", sql: newServer("srv_x", "running"), breaks: "server_kept" },
  {
    what: "the VM number of a running server laid to rest",
    sql: "update region_vmid set state = 'tombstone', free_after = now() where server_id = {running} and state = 'used';",
    breaks: "server_kept",
  },
  {
    what: "the VM number of a create given to another",
    sql: "update region_vmid set server_id = {marked} where server_id = {creating};",
    // The other one would have two, which its index refuses immediately.
    breaks: "region_vmid_server",
  },
  {
    what: "the VM number of a running server taken out of the pool",
    sql: "delete from region_vmid where server_id = {running} and state = 'used';",
    breaks: "server_kept",
  },
  {
    what: "the address of a running server released",
    sql: "update address set state = 'quarantined', nic_id = null, free_after = now() where nic_id = {spare_nic};",
    breaks: "server_kept",
  },
  {
    what: "the address of a running server deleted",
    sql: "delete from address where nic_id = {spare_nic};",
    breaks: "server_kept",
  },
  {
    what: "the interface and address of a running server deleted",
    sql: "delete from address where nic_id = {spare_nic}; delete from nic where id = {spare_nic};",
    breaks: "server_kept",
  },
  {
    what: "the interface of a running server made its second one",
    sql: "update nic set position = 1 where id = {spare_nic};",
    breaks: "server_kept",
  },
  {
    what: "an address outside of its subnet",
    sql: `update address set address = '192.0.2.7' where nic_id = {spare_nic};`,
    breaks: "address_owned",
  },
];

/** What is allocated has a live owner. */
const withoutOwner: readonly Attempt[] = [
  {
    what: "a VM number for a server that never was",
    sql: vmidFor("srv_never"),
    breaks: "vmid_owned",
  },
  {
    what: "a VM number for a server that is gone",
    sql: "update region_vmid set state = 'used', server_id = {gone} where region = 'ist1' and vmid = 20900;",
    breaks: "vmid_owned",
  },
  {
    what: "a VM number of another region",
    sql: `update region_vmid set state = 'tombstone' where server_id = {running} and state = 'used';
          update region_vmid set state = 'used', server_id = {running} where region = 'far1' and vmid = 20900;`,
    breaks: "server_kept|vmid_owned",
  },
  {
    what: "a server that is deleted and keeps everything",
    sql: "update server set status = 'deleted', deleted_at = now() where id = {marked};",
    breaks: "server_kept",
  },
  {
    what: "a server that is deleted and keeps its address",
    sql: `update region_vmid set state = 'tombstone', free_after = now() where server_id = {marked} and state = 'used';
          update server set status = 'deleted', deleted_at = now() where id = {marked};`,
    breaks: "server_kept",
  },
  {
    what: "a server that is deleted and keeps its VM number",
    sql: `update address set state = 'quarantined', nic_id = null, free_after = now()
           where nic_id in (select id from nic where server_id = {marked});
          delete from nic where server_id = {marked};
          update server set status = 'deleted', deleted_at = now() where id = {marked};`,
    breaks: "server_kept",
  },
  {
    what: "an interface for a server that is gone",
    sql: `insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
          values ('nic_x', {org}, 'ist1', {gone}, {subnet}, '0a:00:00:00:99:98');`,
    breaks: "nic_owned",
  },
  {
    what: "an address for an interface of another subnet",
    sql: `${newServer("srv_x", "creating")}${vmidFor("srv_x")}${nicFor("srv_x")}
          insert into address (subnet_id, address, organisation_id, state, nic_id)
          select id, gateway_ip + 90, organisation_id, 'used', 'nic_srv_x' from subnet where id = {far_subnet};
          ${jobFor("'srv_x'")}`,
    breaks: "server_kept|address_owned",
  },
  {
    what: "the row of a server taken away",
    sql: "delete from server where id = {gone};",
    breaks: "permission denied",
  },
];

/** A job has its resource, of its organisation and its region. */
const withoutResource: readonly Attempt[] = [
  { what: "a job for a server that never was", sql: jobFor("'srv_never'"), breaks: "job_owned" },
  { what: "a job for a server that is gone", sql: jobFor("{gone}", "ServerDestroy"), breaks: "job_owned" },
  {
    what: "a job for another organisation's server",
    sql: jobFor("{others_server}", "ServerStop"),
    breaks: "job_owned",
  },
  {
    what: "a job in another region than its server",
    sql: jobFor("{running}", "ServerStop", { region: "far1" }),
    breaks: "job_owned",
  },
  {
    what: "a job that is turned to a server that never was",
    sql: "update job set resource_id = 'srv_never' where id = {creating_job};",
    breaks: "job_owned|server_kept",
  },
  {
    what: "a job that is moved to another region",
    sql: "update job set region = 'far1' where id = {creating_job};",
    breaks: "job_owned",
  },
  {
    what: "an open job taken away",
    sql: "delete from job where id = {creating_job};",
    breaks: "permission denied",
  },
];

/** A subnet has its VLAN. */
const withoutVlan: readonly Attempt[] = [
  {
    what: "a subnet without a VLAN",
    sql: `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
          select 'sub_x', organisation_id, network_id, region, 'x', 'app', set_masklen(cidr + 4096, 28), gateway_ip + 4096, gateway_ip + 4097
            from subnet where id = {subnet};`,
    breaks: "subnet_kept",
  },
  {
    what: "the VLAN of a subnet freed",
    sql: "update region_vlan set subnet_id = null where subnet_id = {subnet};",
    breaks: "subnet_kept",
  },
  {
    what: "the VLAN of a subnet taken out of the pool",
    sql: "delete from region_vlan where subnet_id = {subnet};",
    breaks: "subnet_kept",
  },
  {
    what: "a VLAN of another region",
    sql: `update region_vlan set subnet_id = null where subnet_id = {subnet};
          update region_vlan set subnet_id = {subnet} where region = 'far1' and vlan = 150;`,
    breaks: "subnet_kept|vlan_owned",
  },
];

const newReservation = (subnet = "{subnet}") =>
  `insert into address_reservation (id, organisation_id, region, subnet_id, name)
   values ('rsv_x', {org}, 'ist1', ${subnet}, 'x');`;
const keptAddress = (address: string, reservation: string) =>
  `insert into address (subnet_id, address, organisation_id, state, reservation_id)
   select id, ${address}, organisation_id, 'reserved', ${reservation} from subnet where id = {subnet};`;

/** What is reserved exists, and what cannot be allocated belongs to a reservation. */
const withoutReservation: readonly Attempt[] = [
  { what: "a reservation without its address", sql: newReservation(), breaks: "reservation_kept" },
  {
    what: "a reservation whose address is let go",
    sql: `${newReservation()}${keptAddress("gateway_ip + 91", "'rsv_x'")}
          update address set reservation_id = null, state = 'quarantined', free_after = now() where reservation_id = 'rsv_x';`,
    breaks: "reservation_kept",
  },
  {
    what: "a reservation whose address is deleted",
    sql: `${newReservation()}${keptAddress("gateway_ip + 91", "'rsv_x'")}
          delete from address where reservation_id = 'rsv_x';`,
    breaks: "reservation_kept",
  },
  {
    what: "a reservation of the gateway's address",
    sql: `${newReservation()}
          update address set reservation_id = 'rsv_x' where subnet_id = {subnet}
             and address = (select gateway_ip from subnet where id = {subnet});`,
    breaks: "reservation_kept",
  },
  {
    what: "a reservation of an address outside of its subnet",
    sql: `${newReservation()}${keptAddress("'192.0.2.7'", "'rsv_x'")}`,
    breaks: "reservation_kept",
  },
  {
    what: "a reservation of two addresses",
    sql: `${newReservation()}${keptAddress("gateway_ip + 91", "'rsv_x'")}${keptAddress("gateway_ip + 92", "'rsv_x'")}`,
    breaks: "address_reservation_once",
  },
  {
    what: "a reservation in another organisation's subnet",
    sql: newReservation("{other_org_subnet}"),
    breaks: "address_reservation_organisation_id_subnet_id_region_fkey",
  },
  {
    what: "an address that is kept for nobody",
    sql: keptAddress("gateway_ip + 91", "null"),
    breaks: "address_held",
  },
  {
    what: "a reserved address that is nobody's any more",
    sql: `${newReservation()}${keptAddress("gateway_ip + 91", "'rsv_x'")}
          update address set reservation_id = null where reservation_id = 'rsv_x';
          delete from address_reservation where id = 'rsv_x';`,
    breaks: "address_held",
  },
];

export const attempts: readonly Attempt[] = [
  ...withoutJob,
  ...withoutAllocation,
  ...withoutOwner,
  ...withoutResource,
  ...withoutVlan,
  ...withoutReservation,
  ...withoutNetworkJob,
  ...withoutOpenSubnet,
  ...withoutGateway,
  ...withoutForwarding,
];

/**
 * Complete changes, in orders in which something is missing until the last statement: these must be accepted.
 */
export const legal: readonly { readonly what: string; readonly sql: string }[] = [
  { what: "a create, its job last", sql: `${whole("srv_l1")}${jobFor("'srv_l1'")}` },
  {
    what: "a create, its job first",
    sql: `${jobFor("'srv_l2'")}${newServer("srv_l2", "creating")}${nicFor("srv_l2")}${addressFor("srv_l2")}${vmidFor("srv_l2")}`,
  },
  {
    what: "another VM number for a create",
    sql: `update region_vmid set state = 'quarantined' where server_id = {creating} and state = 'used';
          update region_vmid set state = 'used', server_id = {creating} where region = 'ist1' and vmid = 20901;`,
  },
  {
    what: "a create that fails",
    sql: `${endJob("{creating_job}")} update server set status = 'error' where id = {creating};`,
  },
  {
    what: "a destroy that fails, and keeps everything",
    sql: endJob("{leaving_job}"),
  },
  {
    what: "a destroy that is done",
    sql: destroyed("{leaving_job}", "{leaving}"),
  },
  ...legalAtEdge,
  {
    what: "a VM number that is taken and given back",
    sql: `${vmidFor("srv_never")} update region_vmid set state = 'free', server_id = null where region = 'ist1' and vmid = 20900;`,
  },
  {
    what: "a reservation, given up again",
    sql: `${newReservation()}${keptAddress("gateway_ip + 93", "'rsv_x'")} set constraints all immediate;
          set constraints all deferred;
          update address set reservation_id = null, state = 'quarantined', free_after = now() where reservation_id = 'rsv_x';
          delete from address_reservation where id = 'rsv_x';`,
  },
  {
    what: "a subnet, its VLAN last",
    sql: `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
          select 'sub_l', organisation_id, network_id, region, 'l', 'app', set_masklen(cidr + 8192, 28), gateway_ip + 8192, gateway_ip + 8193
            from subnet where id = {subnet};
          update region_vlan set subnet_id = 'sub_l' where region = 'ist1' and vlan = 190;`,
  },
];
