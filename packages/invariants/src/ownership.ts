import type { Check } from "./check.ts";
import type { KeyName } from "./keys.ts";

type OwnershipPair = {
  readonly child: string;
  readonly column: string;
  readonly parent: string;
  /** Both have a region, which must be the same. */
  readonly region: boolean;
  /** The key by which the children are read in slices, and the column that has it; all at once without it. */
  readonly by?: KeyName;
  readonly key?: string;
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
  { child: "nic", column: "server_id", parent: "server", region: true, by: "interface of a server" },
  {
    child: "nic",
    column: "subnet_id",
    parent: "subnet",
    region: true,
    by: "interface of a server",
    key: "server_id",
  },
  { child: "address", column: "subnet_id", parent: "subnet", region: false, by: "subnet" },
  { child: "address", column: "nic_id", parent: "nic", region: false, by: "interface" },
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
  { child: "public_ip", column: "load_balancer_id", parent: "load_balancer", region: true },
  { child: "gateway_subnet", column: "gateway_id", parent: "gateway", region: false },
  { child: "gateway_subnet", column: "network_id", parent: "network", region: false },
  { child: "gateway_subnet", column: "subnet_id", parent: "subnet", region: false },
  { child: "port_forward", column: "gateway_id", parent: "gateway", region: true },
  { child: "port_forward", column: "subnet_id", parent: "subnet", region: true },
  { child: "port_forward", column: "server_id", parent: "server", region: true },
  { child: "load_balancer", column: "network_id", parent: "network", region: true },
  { child: "load_balancer", column: "subnet_id", parent: "subnet", region: true },
  { child: "load_balancer", column: "public_ip_id", parent: "public_ip", region: true },
  { child: "load_balancer", column: "failure_job_id", parent: "job", region: true },
  { child: "load_balancer", column: "resize_job_id", parent: "job", region: true },
  { child: "address", column: "load_balancer_id", parent: "load_balancer", region: false },
  { child: "load_balancer_machine", column: "load_balancer_id", parent: "load_balancer", region: true },
  { child: "load_balancer_machine", column: "server_id", parent: "server", region: true },
  { child: "listener", column: "load_balancer_id", parent: "load_balancer", region: false },
  { child: "load_balancer_target", column: "load_balancer_id", parent: "load_balancer", region: true },
  { child: "load_balancer_target", column: "server_id", parent: "server", region: true },
  { child: "load_balancer_sight", column: "server_id", parent: "server", region: false },
  { child: "load_balancer_traffic", column: "load_balancer_id", parent: "load_balancer", region: false },
  { child: "listener_certificate", column: "load_balancer_id", parent: "load_balancer", region: true },
  { child: "listener_certificate", column: "listener_id", parent: "listener", region: false },
  { child: "listener_certificate", column: "certificate_id", parent: "certificate", region: true },
  {
    child: "record_set",
    column: "domain_id",
    parent: "domain",
    region: false,
    by: "domain",
  },
  { child: "record_set", column: "server_id", parent: "server", region: false },
  { child: "certificate_version", column: "certificate_id", parent: "certificate", region: false },
  { child: "certificate_order", column: "certificate_id", parent: "certificate", region: false },
  { child: "domain_challenge", column: "domain_id", parent: "domain", region: false },
  { child: "domain_challenge", column: "certificate_id", parent: "certificate", region: false },
  { child: "drift", column: "server_id", parent: "server", region: true },
  { child: "console_session", column: "server_id", parent: "server", region: true },
  { child: "ssh_key_use", column: "server_id", parent: "server", region: false },
  { child: "server_secret", column: "server_id", parent: "server", region: false },
  { child: "job_step", column: "job_id", parent: "job", region: false, by: "job, enforced" },
  { child: "usage_event", column: "job_id", parent: "job", region: true, by: "event of a job" },
  {
    child: "usage_segment",
    column: "opened_by",
    parent: "usage_event",
    region: true,
    by: "segment",
    key: "id",
  },
  {
    child: "usage_segment",
    column: "closed_by",
    parent: "usage_event",
    region: true,
    by: "segment",
    key: "id",
  },
  {
    child: "usage_event",
    column: "corrects",
    parent: "usage_segment",
    region: true,
    by: "metered",
    key: "resource_id",
  },
  // These have no constraint: one may refer to one of several tables, the other is only shown.
  {
    child: "job",
    column: "resource_id",
    parent: "server",
    region: true,
    where: "c.resource_type = 'server'",
    by: "job",
    key: "id",
  },
  { child: "server", column: "status_job_id", parent: "job", region: true, by: "server", key: "id" },
  { child: "network", column: "status_job_id", parent: "job", region: true },
  { child: "domain", column: "status_job_id", parent: "job", region: false },
];

export const ownershipChecks: readonly Check[] = ownershipPairs.map(
  ({ child, column, parent, region, where, by, key = column }): Check => ({
    invariant: "I11",
    check: `${child}.${column} is there, in its organisation${region ? " and region" : ""}`,
    ...(by === undefined ? {} : { by }),
    sql: `select '${child} ' || c.${column} as subject ${by === undefined ? "" : `, min(c.${key}) as key`}
            from ${child} c left join ${parent} p on p.id = c.${column}${by !== undefined && key === column ? ` and within(p.id)` : ""}
           where c.${column} is not null ${where === undefined ? "" : `and ${where}`} ${by === undefined ? "" : `and within(c.${key})`}
             and (p.id is null or c.organisation_id <> p.organisation_id ${region ? "or c.region is distinct from p.region" : ""})
           group by c.${column}`,
  }),
);

/** The pairs that no constraint enforces, or only together with another one of them. */
const unenforced = new Set([
  "job.resource_id",
  "server.status_job_id",
  "network.status_job_id",
  "domain.status_job_id",
  "gateway_subnet.network_id",
  "port_forward.subnet_id",
]);
const enforced = ownershipPairs.filter(({ child, column }) => !unenforced.has(`${child}.${column}`));

export const ownershipConstraintCheck: Check = {
  invariant: "I11",
  check: "the foreign key of every such reference is there and valid",
  sql: `select child || '.' || name || ' has no valid foreign key to ' || parent as subject
          from (values ${enforced.map(({ child, column, parent }) => `('${child}', '${column}', '${parent}')`).join(", ")})
               pair (child, name, parent)
         where not exists (
           select 1 from pg_constraint con
             join pg_attribute a on a.attrelid = con.conrelid and a.attnum = any (con.conkey) and a.attname = pair.name
            where con.contype = 'f' and con.convalidated and con.conrelid = pair.child::regclass
              and con.confrelid = pair.parent::regclass)`,
};
