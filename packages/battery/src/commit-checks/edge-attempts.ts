import type { Attempt } from "./attempts.ts";
import { destroyed, endJob } from "./statements.ts";

const networkJob = (id: string, resource: string, region = "ist1") =>
  `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
   values ('${id}', {org}, '${region}', 'NetworkApply', 'network', ${resource}, '{}', 'req_x');`;
const newNetwork = (id: string, status: string) =>
  `insert into network (id, organisation_id, region, name, cidr, status)
   values ('${id}', {org}, 'ist1', '${id}', '10.250.0.0/16', '${status}');`;
/** A subnet with all that it needs, of the VLAN 191. */
const newSubnet = (id: string, status: string) =>
  `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint, status)
   select '${id}', organisation_id, network_id, region, '${id}', 'app', set_masklen(cidr + 8192, 28), gateway_ip + 8192,
          gateway_ip + 8193, '${status}' from subnet where id = {edge_subnet};
   update region_vlan set subnet_id = '${id}' where region = 'ist1' and vlan = 191;`;

/** A pending change of the edge has a job; and a job has its network. */
export const withoutNetworkJob: readonly Attempt[] = [
  ...["updating", "provisioning", "deleting"].map((status) => ({
    what: `a network that is ${status} with no job`,
    sql: `update network set status = '${status}' where id = {edge_network};`,
    breaks: "network_kept",
  })),
  ...["provisioning", "updating", "deleting"].map((status) => ({
    what: `a subnet that is ${status} with no job`,
    sql: `update subnet set status = '${status}' where id = {edge_subnet};`,
    breaks: "network_kept",
  })),
  {
    what: "a new network that waits for no job",
    sql: newNetwork("net_x", "provisioning"),
    breaks: "network_kept",
  },
  {
    what: "a new subnet that waits for no job",
    sql: newSubnet("sub_x", "provisioning"),
    breaks: "network_kept",
  },
  {
    what: "a network whose job ends alone",
    sql: endJob("{bare_job}"),
    breaks: "network_kept",
  },
  {
    what: "a job for a network that never was",
    sql: networkJob("job_x", "'net_never'"),
    breaks: "job_owned",
  },
  {
    what: "a job for another organisation's network",
    sql: networkJob("job_x", "{others_network}"),
    breaks: "job_owned",
  },
  {
    what: "a job in another region than its network",
    sql: networkJob("job_x", "{edge_network}", "far1"),
    breaks: "job_owned",
  },
  {
    what: "a job that waits again for a network that is gone",
    sql: "update job set status = 'queued', finished_at = null where id = {gone_network_job};",
    breaks: "job_owned",
  },
  {
    what: "the end of a network whose job waits",
    sql: "delete from network where id = {bare_network};",
    breaks: "job_owned",
  },
];

/** Nothing of a subnet that is being deleted is allocated. */
export const withoutOpenSubnet: readonly Attempt[] = [
  {
    what: "a server in a subnet that is going",
    sql: `insert into server (id, organisation_id, region, name, status, image, package)
          values ('srv_x', {org}, 'ist1', 'srv_x', 'error', 'debian-13', 's');
          update region_vmid set state = 'used', server_id = 'srv_x' where region = 'ist1' and vmid = 20900;
          insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
          values ('nic_x', {org}, 'ist1', 'srv_x', {going_subnet}, '0a:00:00:00:99:99');
          insert into address (subnet_id, address, organisation_id, state, nic_id)
          select id, gateway_ip + 90, organisation_id, 'used', 'nic_x' from subnet where id = {going_subnet};`,
    breaks: "subnet_open",
  },
  {
    what: "a firewall attached to a subnet that is going",
    sql: `insert into firewall_attachment (id, organisation_id, region, firewall_id, subnet_id)
          values ('fwa_x', {org}, 'ist1', {firewall}, {going_subnet});`,
    breaks: "subnet_open",
  },
  ...(["subnet", "network"] as const).map((kind) => ({
    what: `a rule about a ${kind} that is going`,
    sql: `insert into firewall_rule (id, organisation_id, region, firewall_id, position, direction, action, protocol, priority)
          values ('fwr_x', {org}, 'ist1', {firewall}, 0, 'in', 'allow', 'any', 100);
          ${kind === "network" ? "update network set status = 'deleting' where id = {bare_network};" : ""}
          insert into firewall_peer (rule_id, position, organisation_id, region, kind, ${kind}_id)
          values ('fwr_x', 0, {org}, 'ist1', '${kind}', ${kind === "network" ? "{bare_network}" : "{going_subnet}"});`,
    breaks: "subnet_open",
  })),
];

const serve = (tier: string) =>
  `insert into gateway_subnet (subnet_id, organisation_id, network_id, gateway_id, tier, wanted_generation)
   values ({edge_data}, {org}, {edge_network}, {gateway}, '${tier}', 1);`;

/**
 * A gateway has its address, and a job while a change of it is pending; one that is being deleted serves
 * nothing.
 */
export const withoutGateway: readonly Attempt[] = [
  { what: "a data subnet that is served", sql: serve("data"), breaks: "gateway_serves_no_data" },
  { what: "a data subnet that is served as another", sql: serve("app"), breaks: "gateway_subnet_tier" },
  {
    what: "a gateway whose address is let go",
    sql: "update public_ip set gateway_id = null where id = {gateway_ip};",
    breaks: "gateway_kept",
  },
  {
    what: "a gateway whose address is deleted",
    sql: `update public_address set state = 'quarantined', public_ip_id = null, free_after = now()
           where public_ip_id = {gateway_ip};
          delete from public_ip where id = {gateway_ip};`,
    breaks: "gateway_kept",
  },
  {
    what: "a gateway without an address",
    sql: `insert into gateway (id, organisation_id, region, network_id, name, wanted_generation)
          values ('gw_x', {org}, 'ist1', {bare_network}, 'x', 1);`,
    breaks: "gateway_kept",
  },
  {
    what: "the address of a gateway that is a server's, too,",
    sql: "update public_ip set server_id = {edge_server}, held_by = {edge_server} where id = {gateway_ip};",
    breaks: "public_ip_of_one",
  },
  {
    what: "a gateway that is going and serves",
    sql: "update gateway set is_deleting = true, status_code = 'x' where id = {gateway};",
    breaks: "gateway_kept",
  },
  {
    what: "a gateway that is going and forwards",
    sql: `update gateway_subnet set left_generation = 99 where gateway_id = {gateway};
          update gateway set is_deleting = true, status_code = 'x' where id = {gateway};`,
    breaks: "gateway_kept",
  },
  {
    what: "a gateway that is changed with no job",
    sql: "update gateway set generation = generation + 1 where id = {gateway};",
    breaks: "gateway_kept",
  },
  {
    what: "a gateway whose job ends alone",
    sql: `${endJob("{waiting_job}")} update network set status = 'error' where id = {waiting_network};
          update subnet set status = 'error' where network_id = {waiting_network};`,
    breaks: "gateway_kept",
  },
  {
    what: "a subnet served again by a gateway that is going",
    sql: "update gateway_subnet set left_generation = null where gateway_id = {leaving_gateway};",
    breaks: "gateway_kept",
  },
  {
    what: "a port forwarded again by a gateway that is going",
    sql: "update port_forward set left_generation = null where gateway_id = {leaving_gateway};",
    breaks: "gateway_kept",
  },
];

/** A port is forwarded to its server, as long as it is forwarded. */
export const withoutForwarding: readonly Attempt[] = [
  {
    what: "a port that leads to another server",
    sql: "update port_forward set server_id = {edge_server} where id = {forward};",
    breaks: "port_forward_kept",
  },
  {
    what: "a port that leads to nobody",
    sql: "update port_forward set target_address = target_address + 50 where id = {forward};",
    breaks: "port_forward_kept",
  },
  {
    what: "a port that leads where the gateway does not serve",
    sql: "update port_forward set subnet_id = {edge_data} where id = {forward};",
    breaks: "port_forward_served",
  },
  {
    what: "a destroy that keeps the port of its server",
    sql: destroyed("{forwarded_job}", "{forwarded}"),
    breaks: "port_forward_kept",
  },
];

/** Complete changes of the same, which must be accepted. */
export const legalAtEdge: readonly { readonly what: string; readonly sql: string }[] = [
  {
    what: "a network that the edge has",
    sql: `${endJob("{bare_job}", "succeeded")} update network set status = 'active' where id = {bare_network};`,
  },
  {
    what: "a network that the edge has not taken",
    sql: `${endJob("{waiting_job}")} update network set status = 'error' where id = {waiting_network};
          update subnet set status = 'error' where network_id = {waiting_network};
          update gateway set status_code = 'apply_failed' where network_id = {waiting_network};`,
  },
  {
    what: "a destroy that takes the port of its server along",
    sql: `${destroyed("{forwarded_job}", "{forwarded}")}
          update port_forward set left_generation = 99 where id = {forward};`,
  },
];
