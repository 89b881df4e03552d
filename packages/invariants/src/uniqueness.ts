import type { Check } from "./check.ts";
import type { KeyName } from "./keys.ts";

type UniqueFact = {
  readonly what: string;
  readonly table: string;
  readonly columns: readonly string[];
  /** Only these rows; all without it. */
  readonly where?: string;
  /** The key by which a large table is read in slices: the first of the columns has it. */
  readonly by?: KeyName;
};

/**
 * Facts that must be unique. A unique index enforces each of them: one check looks for the indexes at every pass, and the
 * others read the rows, those of large tables in slices. Keys that only Kule chooses (primary keys named id) are left out.
 */
export const uniqueFacts: readonly UniqueFact[] = [
  { what: "VMID", table: "region_vmid", columns: ["region", "vmid"], by: "region, enforced" },
  {
    what: "VMIDs of",
    table: "region_vmid",
    columns: ["server_id"],
    where: "state = 'used'",
    by: "interface of a server",
  },
  { what: "VLAN", table: "region_vlan", columns: ["region", "vlan"] },
  { what: "VLANs of", table: "region_vlan", columns: ["subnet_id"], where: "subnet_id is not null" },
  { what: "address", table: "address", columns: ["subnet_id", "address"], by: "subnet" },
  {
    what: "addresses of",
    table: "address",
    columns: ["nic_id"],
    where: "nic_id is not null",
    by: "interface",
  },
  {
    what: "addresses of reservation",
    table: "address",
    columns: ["reservation_id"],
    where: "reservation_id is not null",
  },
  { what: "reservation", table: "address_reservation", columns: ["subnet_id", "name"] },
  { what: "domain", table: "domain", columns: ["name"], where: "is_verified" },
  { what: "domain of an organisation", table: "domain", columns: ["organisation_id", "name"] },
  { what: "label of a domain", table: "domain", columns: ["label"] },
  { what: "certificate", table: "certificate", columns: ["organisation_id", "name"] },
  { what: "pool", table: "ip_pool", columns: ["region", "name"] },
  { what: "public address", table: "public_address", columns: ["address"] },
  { what: "public address number", table: "public_address", columns: ["seq"] },
  {
    what: "public addresses of",
    table: "public_address",
    columns: ["public_ip_id"],
    where: "public_ip_id is not null",
  },
  { what: "public IP", table: "public_ip", columns: ["address"] },
  {
    what: "public IPs of",
    table: "public_ip",
    columns: ["server_id", "version"],
    where: "server_id is not null",
  },
  { what: "authenticator app of", table: "user_totp", columns: ["user_id"] },
  { what: "recovery code", table: "recovery_code", columns: ["user_id", "code_hash"] },
  { what: "passkey", table: "passkey", columns: ["credential"] },
  { what: "account at a provider", table: "user_identity", columns: ["issuer", "subject"] },
  { what: "answered challenge", table: "spent_challenge", columns: ["hash"] },
  { what: "MAC", table: "nic", columns: ["region", "mac"], by: "region, enforced" },
  { what: "interface", table: "nic", columns: ["server_id", "position"], by: "interface of a server" },
  {
    what: "name",
    table: "server",
    columns: ["organisation_id", "region", "name"],
    where: "deleted_at is null",
    by: "name of an organisation's server",
  },
  { what: "network", table: "network", columns: ["organisation_id", "region", "name"] },
  {
    what: "default network",
    table: "network",
    columns: ["organisation_id", "region"],
    where: "is_default",
  },
  { what: "subnet", table: "subnet", columns: ["network_id", "name"] },
  { what: "firewall", table: "firewall", columns: ["organisation_id", "region", "name"] },
  { what: "rule", table: "firewall_rule", columns: ["firewall_id", "position"] },
  { what: "peer", table: "firewall_peer", columns: ["rule_id", "position"] },
  {
    what: "firewall of a server",
    table: "firewall_attachment",
    columns: ["firewall_id", "server_id"],
    where: "server_id is not null",
  },
  {
    what: "firewall of a subnet",
    table: "firewall_attachment",
    columns: ["firewall_id", "subnet_id"],
    where: "subnet_id is not null",
  },
  {
    what: "firewall of labels",
    table: "firewall_attachment",
    columns: ["firewall_id", "label_selector"],
    where: "label_selector is not null",
  },
  { what: "load balancer", table: "load_balancer", columns: ["organisation_id", "region", "name"] },
  {
    what: "number of two machines",
    table: "load_balancer",
    columns: ["subnet_id", "vrid"],
    where: "vrid is not null",
  },
  {
    what: "shared address",
    table: "address",
    columns: ["load_balancer_id"],
    where: "load_balancer_id is not null",
  },
  {
    what: "server of a load balancer",
    table: "load_balancer_machine",
    columns: ["server_id"],
    where: "server_id is not null",
  },
  { what: "slot", table: "load_balancer_machine", columns: ["load_balancer_id", "slot"] },
  { what: "port of a listener", table: "listener", columns: ["load_balancer_id", "port"] },
  {
    what: "target server",
    table: "load_balancer_target",
    columns: ["load_balancer_id", "server_id"],
    where: "server_id is not null",
  },
  {
    what: "target selector",
    table: "load_balancer_target",
    columns: ["load_balancer_id", "label_selector"],
    where: "label_selector is not null",
  },
  {
    what: "target address",
    table: "load_balancer_target",
    columns: ["load_balancer_id", "address"],
    where: "address is not null",
  },
  { what: "gateway", table: "gateway", columns: ["organisation_id", "region", "name"] },
  { what: "gateways of", table: "gateway", columns: ["network_id"] },
  {
    what: "addresses of gateway",
    table: "public_ip",
    columns: ["gateway_id"],
    where: "gateway_id is not null",
  },
  {
    what: "public address of load balancer",
    table: "public_ip",
    columns: ["load_balancer_id"],
    where: "load_balancer_id is not null",
  },
  { what: "gateways for", table: "gateway_subnet", columns: ["subnet_id"] },
  { what: "served", table: "gateway_subnet", columns: ["organisation_id", "gateway_id", "subnet_id"] },
  {
    what: "forwarded port",
    table: "port_forward",
    columns: ["gateway_id", "protocol", "listen_port"],
    where: "left_generation is null",
  },
  { what: "SSH key", table: "ssh_key", columns: ["organisation_id", "name"] },
  { what: "fingerprint", table: "ssh_key", columns: ["organisation_id", "fingerprint_sha256"] },
  { what: "running jobs of", table: "job", columns: ["resource_id"], where: "status = 'running'" },
  { what: "queued jobs of", table: "job", columns: ["resource_id"], where: "status = 'queued'" },
  { what: "claim", table: "job", columns: ["region", "claim_id"], where: "status = 'running'" },
  { what: "step", table: "job_step", columns: ["job_id", "epoch", "seq"], by: "job, enforced" },
  {
    what: "usage number",
    table: "usage_event",
    columns: ["organisation_id", "seq"],
    by: "events of an organisation",
  },
  {
    what: "usage",
    table: "usage_event",
    columns: ["job_id", "epoch", "resource_id", "kind"],
    where: "job_id is not null",
    by: "event of a job",
  },
  {
    what: "open segments of",
    table: "usage_segment",
    columns: ["resource_id", "kind"],
    where: "ended_at is null",
    by: "open segment",
  },
  {
    what: "console claim",
    table: "console_session",
    columns: ["region", "claim_id"],
    where: "state in ('claimed', 'open')",
  },
  { what: "drift of", table: "drift", columns: ["region", "vmid"] },
  { what: "inventory of", table: "region_inventory", columns: ["region"] },
  { what: "growth", table: "region_growth", columns: ["id"] },
  { what: "seen VMID", table: "region_vm", columns: ["region", "vmid"], by: "region, enforced" },
  { what: "member", table: "member", columns: ["organisation_id", "user_id"] },
  {
    what: "open invitation",
    table: "invitation",
    columns: ["organisation_id", "email_key"],
    where: "accepted_at is null and revoked_at is null",
  },
  { what: "e-mail", table: "app_user", columns: ["email_key"] },
  { what: "organisation", table: "organisation", columns: ["slug"] },
  { what: "region number", table: "region", columns: ["number"] },
];

const shown = (column: string) => (column === "address" ? "host(address)" : column);

/** A fact as a row of SQL: its table, its columns by their names, and whether it is about all rows. */
const indexOf = ({ table, columns, where }: UniqueFact) =>
  `('${table}', '${columns.toSorted().join(", ")}', ${where === undefined})`;

export const uniquenessChecks: readonly Check[] = [
  ...uniqueFacts.map(({ what, table, columns, where, by }): Check => {
    const list = columns.join(", ");
    const conditions = [
      ...(where === undefined ? [] : [`(${where})`]),
      ...(by === undefined ? [] : [`within(${columns[0]})`]),
    ];
    return {
      invariant: "I10",
      check: `${table} has each ${list} once${where === undefined ? "" : ` where ${where}`}`,
      ...(by === undefined ? {} : { by }),
      sql: `select '${what} ' || concat_ws('/', ${columns.map(shown).join(", ")}) as subject${by === undefined ? "" : `, ${columns[0]} as key`}
              from ${table} ${conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`}
             group by ${list} having count(*) > 1`,
    };
  }),
  {
    invariant: "I10",
    check: "the unique index of every such fact is there and valid",
    // Two facts about the same columns have an index each, for different rows.
    sql: `select due.name || ' has ' || have.n || ' of ' || due.n || ' unique indexes of ' || due.columns as subject
            from (select name, columns, bool_or(is_of_all) as is_of_all, count(*) as n
                    from (values ${uniqueFacts.map(indexOf).join(", ")}) fact (name, columns, is_of_all) group by 1, 2) due
            cross join lateral (
              select count(*) as n from pg_index i
               where i.indrelid = due.name::regclass and i.indisunique and i.indisvalid and i.indisready and i.indislive
                 and (i.indpred is null or not due.is_of_all)
                 and due.columns = (select string_agg(a.attname, ', ' order by a.attname) from pg_attribute a
                                     where a.attrelid = i.indrelid and a.attnum = any (i.indkey))) have
           where have.n < due.n`,
  },
  {
    invariant: "I10",
    check: "the subnets of a network do not overlap",
    sql: `select one.id || ' overlaps ' || other.id as subject from subnet one join subnet other
              on one.network_id = other.network_id and one.id < other.id and one.cidr && other.cidr`,
  },
];
