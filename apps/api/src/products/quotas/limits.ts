import type { DB } from "@kule/database/generated/rows";
import { type QuotaName, quotaNames } from "@kule/rules/quotas/names";
import type { QuotaLimits } from "@kule/rules/quotas/quotas";
import type { Database, Tx } from "../../platform/database.ts";

type LimitColumn = Extract<keyof DB["organisation"], `${string}_limit`>;

/**
 * Where each limit is stored: in the organisation's own row, which every transaction that uses quota locks.
 */
export const limitColumns: { readonly [name in QuotaName]: LimitColumn } = {
  servers: "server_limit",
  vcpu: "vcpu_limit",
  memory_mb: "memory_mb_limit",
  disk_gb: "disk_gb_limit",
  networks: "network_limit",
  subnets: "subnet_limit",
  ssh_keys: "ssh_key_limit",
  public_ips: "public_ip_limit",
  firewalls: "firewall_limit",
  firewall_rules: "firewall_rule_limit",
  gateways: "gateway_limit",
  domains: "domain_limit",
  certificates: "certificate_limit",
  load_balancers: "load_balancer_limit",
  members: "member_limit",
};

const columns = quotaNames.map((name) => limitColumns[name]);

function limitsOf(row: { readonly [column in LimitColumn]?: number | null }): QuotaLimits {
  return Object.fromEntries(quotaNames.map((name) => [name, row[limitColumns[name]] ?? null])) as QuotaLimits;
}

export async function readLimits(db: Database | Tx, organisationId: string): Promise<QuotaLimits> {
  const row = await db
    .selectFrom("organisation")
    .select(columns)
    .where("id", "=", organisationId)
    .executeTakeFirstOrThrow();
  return limitsOf(row);
}

/**
 * The limits under the organisation's row lock. Of concurrent transactions that use quota each sees those
 * before it. The lock does not block references to the organisation.
 */
export async function lockLimits(tx: Tx, organisationId: string): Promise<QuotaLimits> {
  const row = await tx
    .selectFrom("organisation")
    .select(columns)
    .where("id", "=", organisationId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  return limitsOf(row);
}
