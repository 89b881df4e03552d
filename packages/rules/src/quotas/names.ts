/** The quotas that an operator can limit, in the order in which a refusal names them. */
export const quotaNames = [
  "servers",
  "vcpu",
  "memory_mb",
  "disk_gb",
  "networks",
  "subnets",
  "ssh_keys",
  "public_ips",
  "firewalls",
  "firewall_rules",
  "gateways",
  "domains",
  "certificates",
  "load_balancers",
  "members",
] as const;
export type QuotaName = (typeof quotaNames)[number];

/** Of a quota that has no room. */
export type QuotaFigures = {
  readonly name: QuotaName;
  readonly limit: number;
  readonly used: number;
  readonly asked: number;
};
