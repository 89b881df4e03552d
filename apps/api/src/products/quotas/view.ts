import type { Schemas } from "@kule/contract/schemas";
import { type QuotaName, quotaNames } from "@kule/rules/quotas/names";
import type { QuotaLimits } from "@kule/rules/quotas/quotas";
import type { QuotaUse } from "./used.ts";

const units: { readonly [name in QuotaName]: Schemas["Quota"]["unit"] } = {
  servers: "count",
  vcpu: "count",
  memory_mb: "MB",
  disk_gb: "GB",
  networks: "count",
  subnets: "count",
  ssh_keys: "count",
  public_ips: "count",
  firewalls: "count",
  firewall_rules: "count",
  gateways: "count",
  domains: "count",
  certificates: "count",
  load_balancers: "count",
  members: "count",
};

export function viewQuotas(limits: QuotaLimits, { used, reserved }: QuotaUse): Schemas["QuotaList"] {
  return {
    items: quotaNames.map((name) => ({
      name,
      limit: limits[name],
      used: used[name] ?? 0,
      reserved: reserved[name] ?? 0,
      unit: units[name],
    })),
    next_cursor: null,
  };
}
