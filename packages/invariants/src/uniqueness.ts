import type { Check } from "./check.ts";

type UniqueFact = {
  readonly what: string;
  readonly table: string;
  readonly columns: readonly string[];
  /** Only these rows; all without it. */
  readonly where?: string;
};

/**
 * Facts that must be unique. A unique index enforces each of them; these check the rows themselves, so that a
 * lost index is noticed. Keys that only Kule chooses (primary keys named id) are left out.
 */
export const uniqueFacts: readonly UniqueFact[] = [
  { what: "VMID", table: "region_vmid", columns: ["region", "vmid"] },
  { what: "VMIDs of", table: "region_vmid", columns: ["server_id"], where: "state = 'used'" },
  { what: "VLAN", table: "region_vlan", columns: ["region", "vlan"] },
  { what: "VLANs of", table: "region_vlan", columns: ["subnet_id"], where: "subnet_id is not null" },
  { what: "address", table: "address", columns: ["subnet_id", "address"] },
  { what: "addresses of", table: "address", columns: ["nic_id"], where: "nic_id is not null" },
  {
    what: "addresses of reservation",
    table: "address",
    columns: ["reservation_id"],
    where: "reservation_id is not null",
  },
  { what: "reservation", table: "address_reservation", columns: ["subnet_id", "name"] },
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
  { what: "MAC", table: "nic", columns: ["region", "mac"] },
  { what: "interface", table: "nic", columns: ["server_id", "position"] },
  {
    what: "name",
    table: "server",
    columns: ["organisation_id", "region", "name"],
    where: "deleted_at is null",
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
  { what: "gateway", table: "gateway", columns: ["organisation_id", "region", "name"] },
  { what: "gateways of", table: "gateway", columns: ["network_id"] },
  {
    what: "addresses of gateway",
    table: "public_ip",
    columns: ["gateway_id"],
    where: "gateway_id is not null",
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
  { what: "step", table: "job_step", columns: ["job_id", "epoch", "seq"] },
  { what: "usage number", table: "usage_event", columns: ["organisation_id", "seq"] },
  {
    what: "usage",
    table: "usage_event",
    columns: ["job_id", "epoch", "resource_id", "kind"],
    where: "job_id is not null",
  },
  {
    what: "open segments of",
    table: "usage_segment",
    columns: ["resource_id", "kind"],
    where: "ended_at is null",
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
  { what: "seen VMID", table: "region_vm", columns: ["region", "vmid"] },
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

export const uniquenessChecks: readonly Check[] = [
  ...uniqueFacts.map(({ what, table, columns, where }): Check => {
    const list = columns.join(", ");
    return {
      invariant: "I10",
      check: `${table} has each ${list} once${where === undefined ? "" : ` where ${where}`}`,
      sql: `select '${what} ' || concat_ws('/', ${columns.map(shown).join(", ")}) as subject from ${table}
             ${where === undefined ? "" : `where ${where}`} group by ${list} having count(*) > 1`,
    };
  }),
  {
    invariant: "I10",
    check: "the subnets of a network do not overlap",
    sql: `select one.id || ' overlaps ' || other.id as subject from subnet one join subnet other
              on one.network_id = other.network_id and one.id < other.id and one.cidr && other.cidr`,
  },
];
