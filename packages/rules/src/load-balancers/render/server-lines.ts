import type { HealthCheck, Listener, LoadBalancerIntent, ResolvedTarget } from "../intent.ts";
import { compareIds } from "../resolve-targets.ts";

/** A server of haproxy's, by its name in every backend. */
export type NamedServer = { readonly name: string; readonly target: ResolvedTarget };

/** haproxy's name of a target: `tgt_…`, or `tgt_….srv_…` for a server that a label selector has found. */
export function serverName({ targetId, selectedServerId }: ResolvedTarget): string {
  return selectedServerId === null ? targetId : `${targetId}.${selectedServerId}`;
}

/** What `serverName` has made; null for any other text, which a machine may say. */
export function readServerName(
  name: string,
): { readonly targetId: string; readonly selectedServerId: string | null } | null {
  const match = /^(tgt_[0-9a-z]{1,40})(?:\.(srv_[0-9a-z]{1,40}))?$/.exec(name);
  if (match === null) return null;
  return { targetId: match[1] ?? "", selectedServerId: match[2] ?? null };
}

/** The servers in the order of their names, whatever order they were given in. */
export function namedServers({ targets }: LoadBalancerIntent): NamedServer[] {
  return targets
    .map((target) => ({ name: serverName(target), target }))
    .toSorted((one, other) => compareIds(one.name, other.name));
}

/** One line for each server of a listener's backend. */
export function serverLines(
  listener: Listener,
  { algorithm }: LoadBalancerIntent,
  servers: readonly NamedServer[],
): string[] {
  // Without an id of its own a server's place in the list is its id, and a removed server would move all behind it.
  const ids = algorithm === "source_hash" ? stableIds(servers.map(({ name }) => name)) : null;
  const weights = algorithm === "source_hash" ? ringWeights(servers) : null;
  return servers.map(({ name, target }) => {
    const isDrained = target.drain || target.weight === 0;
    return [
      `    server ${name} ${target.address}:${listener.targetPort}`,
      ...(ids === null ? [] : [`id ${ids.get(name)}`]),
      `weight ${isDrained ? 0 : (weights?.get(name) ?? target.weight)}`,
      // The cookie of a drained server names nobody, so the next request of its client goes to another one.
      ...(listener.sticky === null || isDrained ? [] : [`cookie ${name}`]),
      checkWords(listener.healthCheck, listener.targetPort),
      ...proxyWords(listener),
      ...(target.backup ? ["backup"] : []),
    ].join(" ");
  });
}

function checkWords(check: HealthCheck, targetPort: number): string {
  const { intervalSeconds, healthyThreshold, unhealthyThreshold } = check;
  return `check port ${check.port ?? targetPort} inter ${intervalSeconds}s rise ${healthyThreshold} fall ${unhealthyThreshold}`;
}

/** A check at a port of its own is another service, which does not expect the PROXY protocol. */
function proxyWords({ proxyProtocol, healthCheck, targetPort }: Listener): string[] {
  if (proxyProtocol === "none") return [];
  const isSamePort = healthCheck.port === null || healthCheck.port === targetPort;
  return [
    proxyProtocol === "v1" ? "send-proxy" : "send-proxy-v2",
    ...(isSamePort ? ["check-send-proxy"] : []),
  ];
}

/**
 * Weights of source_hash. haproxy puts each server 16 times its weight into the ring of hashes: with the weights as they
 * are written, 256 servers of weight 256 at 32 listeners would take gigabytes, and servers of weight 1 have so few places
 * that one gets twice what another does. So the heaviest has always the same weight, and the others their part of it.
 */
function ringWeights(servers: readonly NamedServer[]): ReadonlyMap<string, number> {
  const heaviest = Math.max(1, ...servers.map(({ target }) => target.weight));
  return new Map(
    servers.map(({ name, target }) => [
      name,
      Math.max(1, Math.round((target.weight / heaviest) * heaviestInRing)),
    ]),
  );
}

/** 256 places each, about 6 % between servers of the same weight. */
const heaviestInRing = 16;

/** haproxy takes ids up to 2^31 - 1. */
const idSpace = 2_147_483_647;

/**
 * A number for each name that stays as long as the name does, whichever others come and go: FNV-1a, and the next free
 * number where two are the same, in the order of the names.
 */
function stableIds(names: readonly string[]): ReadonlyMap<string, number> {
  const taken = new Set<number>();
  const ids = new Map<string, number>();
  for (const name of names) {
    let number = (fnv1a(name) % idSpace) + 1;
    while (taken.has(number)) number = (number % idSpace) + 1;
    taken.add(number);
    ids.set(name, number);
  }
  return ids;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
