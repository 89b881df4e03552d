import { type Expected, refused } from "./answers.ts";
import { diskOf, isLeaving, liveNetworks, liveSubnets, type ModelState, packageOf } from "./model-state.ts";
import type { Amounts, ModelServer, QuotaName, Side } from "./types.ts";

/** In the order in which a refusal names them. */
export const QUOTAS: readonly QuotaName[] = [
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
];

/** How much the organisation uses. A server being deleted counts with its place and its disk only. */
export function usedBy(state: ModelState, side: Side): { readonly [name in QuotaName]: number } {
  const servers = state.servers.filter((each) => each.side === side && each.status !== "deleted");
  const firewalls = state.firewalls.filter((each) => each.side === side);
  const staying = servers.filter(({ status }) => !isLeaving(status));
  const sum = (list: readonly ModelServer[], of: "vcpu" | "memoryMb" | "diskGb") =>
    list.reduce((total, server) => total + sizeOf(server)[of], 0);
  const live = (list: readonly { readonly side: Side; readonly isGone: boolean }[]) =>
    list.filter((each) => each.side === side && !each.isGone).length;
  return {
    servers: servers.length,
    vcpu: sum(staying, "vcpu"),
    memory_mb: sum(staying, "memoryMb"),
    disk_gb: sum(servers, "diskGb"),
    networks: liveNetworks(state, side).length,
    subnets: liveSubnets(state, side).length,
    ssh_keys: live(state.keys),
    public_ips: live(state.ips),
    firewalls: firewalls.length,
    firewall_rules: firewalls.length,
    // No command makes one.
    gateways: 0,
    domains: 0,
    certificates: 0,
    load_balancers: 0,
    members: live(state.members),
  };
}

/** While it is resized, the larger of both sizes for each quota. */
function sizeOf(server: ModelServer) {
  const { growsTo } = server;
  const has = { ...packageOf(server.package), diskGb: diskOf(server) };
  if (growsTo === null) return has;
  const comes = { ...packageOf(growsTo.slug), diskGb: growsTo.diskGb };
  return {
    vcpu: Math.max(has.vcpu, comes.vcpu),
    memoryMb: Math.max(has.memoryMb, comes.memoryMb),
    diskGb: Math.max(has.diskGb, comes.diskGb),
  };
}

/** The refusal of the first quota that has no room for it; null when all have. */
export function fullFor(state: ModelState, side: Side, asked: Amounts): Expected | null {
  const limits = state.limits[side];
  if (limits.size === 0) return null;
  const used = usedBy(state, side);
  const full = QUOTAS.find((name) => {
    const [limit, wanted = 0] = [limits.get(name), asked[name]];
    return limit !== undefined && wanted > 0 && used[name] + wanted > limit;
  });
  return full === undefined ? null : refused("quota_exceeded", `quota_${full}`);
}

export function takenByServer(slug: string): Amounts {
  const { vcpu, memoryMb, diskGb } = packageOf(slug);
  return { servers: 1, vcpu, memory_mb: memoryMb, disk_gb: diskGb };
}

/** What a server in the removal buffer has released, and uses again when it is restored. */
export function takenByRestore({ package: slug }: ModelServer): Amounts {
  const { vcpu, memoryMb } = packageOf(slug);
  return { vcpu, memory_mb: memoryMb };
}

export function takenByResize(server: ModelServer, slug: string, diskGb: number): Amounts {
  const [has, comes] = [packageOf(server.package), packageOf(slug)];
  return {
    vcpu: Math.max(0, comes.vcpu - has.vcpu),
    memory_mb: Math.max(0, comes.memoryMb - has.memoryMb),
    disk_gb: Math.max(0, diskGb - diskOf(server)),
  };
}
