import type { Refusal } from "../decision.ts";
import { quotaExceeded } from "../refusals.ts";
import { type QuotaFigures, type QuotaName, quotaNames } from "./names.ts";

/** How much of each; what is left out is nothing. */
export type QuotaAmounts = { readonly [name in QuotaName]?: number };

/** Most of each; null is no limit. */
export type QuotaLimits = { readonly [name in QuotaName]: number | null };

export type QuotaRefusal = Refusal<"quota_exceeded"> & { readonly quota: QuotaFigures };

const words: { readonly [name in QuotaName]: string } = {
  servers: "servers",
  vcpu: "vCPUs",
  memory_mb: "MB of memory",
  disk_gb: "GB of disk",
  networks: "networks",
  subnets: "subnets",
  ssh_keys: "SSH keys",
  public_ips: "public addresses",
  firewalls: "firewalls",
  firewall_rules: "firewall rules",
  gateways: "gateways",
  domains: "domains",
  certificates: "certificates",
  load_balancers: "load balancers",
  members: "members and open invitations",
};

/** What frees quota without an operator. */
const waysOut: { readonly [name in QuotaName]: string } = {
  servers: "delete a server, which counts until its removal is over",
  vcpu: "delete another server, which frees its vCPUs at once",
  memory_mb: "delete another server, which frees its memory at once",
  disk_gb: "delete a server, whose disk counts until its removal is over",
  networks: "delete a network that is not needed",
  subnets: "delete a subnet that is not needed",
  ssh_keys: "delete a key that is not needed; servers made with it keep it",
  public_ips: "release an address that is not needed",
  firewalls: "delete a firewall that is not needed",
  firewall_rules: "remove rules that are not needed",
  gateways: "delete a gateway, which counts until the region's edge has removed it",
  domains: "delete a domain, which counts until its removal is over",
  certificates: "delete a certificate that no listener uses",
  load_balancers: "delete a load balancer, which counts until its servers are gone",
  members: "remove a member, or withdraw an invitation",
};

/** Every quota that does not suffice for the request. A request for less than zero always fits. */
export function decideQuotas(
  organisationId: string,
  limits: QuotaLimits,
  used: QuotaAmounts,
  asked: QuotaAmounts,
): QuotaRefusal[] {
  return quotaNames.flatMap((name): QuotaRefusal[] => {
    const limit = limits[name];
    const wanted = asked[name] ?? 0;
    const taken = used[name] ?? 0;
    if (limit === null || wanted <= 0 || taken + wanted <= limit) return [];
    return [
      {
        ...quotaExceeded(
          `quota_${name}`,
          `The organisation has ${taken} of at most ${limit} ${words[name]}; ${wanted} more ${wanted === 1 ? "is" : "are"} asked for`,
          {
            resource: organisationId,
            fix: `Ask an operator to raise the limit, or make room: ${waysOut[name]}`,
          },
        ),
        quota: { name, limit, used: taken, asked: wanted },
      },
    ];
  });
}

/** The quota that a server uses, by its package. */
export function serverQuota(size: {
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly diskGb: number;
}): QuotaAmounts {
  return { servers: 1, vcpu: size.vcpu, memory_mb: size.memoryMb, disk_gb: size.diskGb };
}

/** The part of it that a managed server uses: it is not one of the servers that its organisation lists. */
export function managedServerQuota(amounts: QuotaAmounts): QuotaAmounts {
  return { ...amounts, servers: 0 };
}

/**
 * The part of it that a server still uses while being deleted: it keeps its disk until it is destroyed, and
 * runs no more.
 */
export function heldInRemoval(amounts: QuotaAmounts): QuotaAmounts {
  return { servers: amounts.servers ?? 0, disk_gb: amounts.disk_gb ?? 0 };
}

/** The part that it uses again when it is restored from the removal buffer. */
export function takenByRestore(amounts: QuotaAmounts): QuotaAmounts {
  return { vcpu: amounts.vcpu ?? 0, memory_mb: amounts.memory_mb ?? 0 };
}

/** Of each the larger of the two. */
export function largerQuota(one: QuotaAmounts, other: QuotaAmounts): QuotaAmounts {
  return Object.fromEntries(quotaNames.map((name) => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]));
}

/** The additional quota of a resize; none for a smaller size. */
export function takenByResize(
  from: { readonly vcpu: number; readonly memoryMb: number; readonly diskGb: number },
  to: { readonly vcpu: number; readonly memoryMb: number; readonly diskGb: number },
): QuotaAmounts {
  return {
    vcpu: Math.max(0, to.vcpu - from.vcpu),
    memory_mb: Math.max(0, to.memoryMb - from.memoryMb),
    disk_gb: Math.max(0, to.diskGb - from.diskGb),
  };
}

/** One and the other; less the other with `-1`. */
export function addQuota(one: QuotaAmounts, other: QuotaAmounts, times = 1): QuotaAmounts {
  return Object.fromEntries(quotaNames.map((name) => [name, (one[name] ?? 0) + times * (other[name] ?? 0)]));
}
