import type { Check } from "./check.ts";

type OwnershipPair = {
  readonly child: string;
  readonly column: string;
  readonly parent: string;
  /** Both have a region, which must be the same. */
  readonly region: boolean;
  /** Only these children, in terms of `c`. */
  readonly where?: string;
};

/**
 * Children and parents that must belong to one organisation, and to one region where both have one. A
 * constraint enforces most of them; these check the rows themselves, so that a lost constraint is noticed.
 * That is why this is a list and not read from the catalogue, where a lost constraint is missing; a test
 * compares the list with the catalogue of a new database.
 */
export const ownershipPairs: readonly OwnershipPair[] = [
  { child: "subnet", column: "network_id", parent: "network", region: true },
  { child: "nic", column: "server_id", parent: "server", region: true },
  { child: "nic", column: "subnet_id", parent: "subnet", region: true },
  { child: "address", column: "subnet_id", parent: "subnet", region: false },
  { child: "address", column: "nic_id", parent: "nic", region: false },
  { child: "address", column: "reservation_id", parent: "address_reservation", region: false },
  { child: "address_reservation", column: "subnet_id", parent: "subnet", region: true },
  { child: "public_ip", column: "server_id", parent: "server", region: true },
  { child: "public_ip", column: "held_by", parent: "server", region: true },
  { child: "firewall_rule", column: "firewall_id", parent: "firewall", region: true },
  { child: "firewall_peer", column: "rule_id", parent: "firewall_rule", region: true },
  { child: "firewall_peer", column: "subnet_id", parent: "subnet", region: true },
  { child: "firewall_peer", column: "network_id", parent: "network", region: true },
  { child: "firewall_peer", column: "peer_firewall_id", parent: "firewall", region: true },
  { child: "firewall_attachment", column: "firewall_id", parent: "firewall", region: true },
  { child: "firewall_attachment", column: "server_id", parent: "server", region: true },
  { child: "firewall_attachment", column: "subnet_id", parent: "subnet", region: true },
  { child: "gateway", column: "network_id", parent: "network", region: true },
  { child: "gateway", column: "status_job_id", parent: "job", region: true },
  { child: "public_ip", column: "gateway_id", parent: "gateway", region: true },
  { child: "gateway_subnet", column: "gateway_id", parent: "gateway", region: false },
  { child: "gateway_subnet", column: "network_id", parent: "network", region: false },
  { child: "gateway_subnet", column: "subnet_id", parent: "subnet", region: false },
  { child: "port_forward", column: "gateway_id", parent: "gateway", region: true },
  { child: "port_forward", column: "subnet_id", parent: "subnet", region: true },
  { child: "port_forward", column: "server_id", parent: "server", region: true },
  { child: "drift", column: "server_id", parent: "server", region: true },
  { child: "console_session", column: "server_id", parent: "server", region: true },
  { child: "ssh_key_use", column: "server_id", parent: "server", region: false },
  { child: "server_secret", column: "server_id", parent: "server", region: false },
  { child: "job_step", column: "job_id", parent: "job", region: false },
  { child: "usage_event", column: "job_id", parent: "job", region: true },
  { child: "usage_segment", column: "opened_by", parent: "usage_event", region: true },
  { child: "usage_segment", column: "closed_by", parent: "usage_event", region: true },
  { child: "usage_event", column: "corrects", parent: "usage_segment", region: true },
  // These have no constraint: one may refer to one of several tables, the other is only shown.
  {
    child: "job",
    column: "resource_id",
    parent: "server",
    region: true,
    where: "c.resource_type = 'server'",
  },
  { child: "server", column: "status_job_id", parent: "job", region: true },
  { child: "network", column: "status_job_id", parent: "job", region: true },
];

export const ownershipChecks: readonly Check[] = ownershipPairs.map(
  ({ child, column, parent, region, where }): Check => ({
    invariant: "I11",
    check: `${child}.${column} is there, in its organisation${region ? " and region" : ""}`,
    sql: `select distinct '${child} ' || c.${column} as subject from ${child} c left join ${parent} p on p.id = c.${column}
           where c.${column} is not null ${where === undefined ? "" : `and ${where}`}
             and (p.id is null or c.organisation_id <> p.organisation_id ${region ? "or c.region <> p.region" : ""})`,
  }),
);
