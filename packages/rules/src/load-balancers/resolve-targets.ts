import type { Labels } from "../labels/merge.ts";
import { parseLabelSelector, selectorMatches } from "../labels/selector.ts";
import { addressOf } from "../networks/address-text.ts";
import type { ResolvedTarget } from "./intent.ts";
import { maxResolvedTargets } from "./limits.ts";

/** A target as it is stored: validated, exactly one of the three. */
export type StoredTarget = {
  readonly id: string;
  readonly serverId: string | null;
  readonly labelSelector: string | null;
  readonly address: string | null;
  readonly weight: number;
  readonly backup: boolean;
  readonly drain: boolean;
};

/** A server of the load balancer's network that may be a target: none that is being deleted or that is managed. */
export type TargetServer = {
  readonly id: string;
  readonly labels: Labels;
  /** In the network; null: it has none yet, and no traffic can reach it. */
  readonly address: string | null;
};

export type TargetResolution = {
  /** In a stable order, each address once. */
  readonly targets: readonly ResolvedTarget[];
  /** Of each target that is more than it gives: how many servers are left out because the load balancer is full. */
  readonly leftOut: ReadonlyMap<string, number>;
};

/**
 * The addresses that the targets stand for now.
 *
 * Servers and addresses come before what label selectors find, whatever the order of the targets: nobody loses a target
 * that they named because somebody gave a label to many servers. Of a selector's servers those with the lower ids come
 * first, which are the older ones, so that new servers never push out those that serve. An address that two targets give
 * is the first one's, since twice in a backend it would have twice the connections.
 *
 * @throws RangeError for a label selector or an address that was not validated
 */
export function resolveTargets(
  targets: readonly StoredTarget[],
  servers: readonly TargetServer[],
  max = maxResolvedTargets,
): TargetResolution {
  const byId = new Map(servers.map((server) => [server.id, server]));
  const inOrder = servers.toSorted((one, other) => compareIds(one.id, other.id));
  const named = targets.filter(({ labelSelector }) => labelSelector === null);
  const selecting = targets.filter(({ labelSelector }) => labelSelector !== null);
  const taken = new Set<bigint>();
  const resolved: ResolvedTarget[] = [];
  const leftOut = new Map<string, number>();
  for (const target of [...named.toSorted(byTargetId), ...selecting.toSorted(byTargetId)])
    for (const { address, serverId } of addressesOf(target, byId, inOrder)) {
      const { value } = addressOf(address);
      if (taken.has(value)) continue;
      if (resolved.length >= max) {
        leftOut.set(target.id, (leftOut.get(target.id) ?? 0) + 1);
        continue;
      }
      taken.add(value);
      resolved.push({
        targetId: target.id,
        selectedServerId: serverId,
        address,
        weight: target.weight,
        backup: target.backup,
        drain: target.drain,
      });
    }
  return { targets: resolved, leftOut };
}

type Found = { readonly address: string; readonly serverId: string | null };

function addressesOf(
  target: StoredTarget,
  byId: ReadonlyMap<string, TargetServer>,
  inOrder: readonly TargetServer[],
): Found[] {
  if (target.address !== null) return [{ address: target.address, serverId: null }];
  if (target.serverId !== null) {
    const address = byId.get(target.serverId)?.address ?? null;
    return address === null ? [] : [{ address, serverId: null }];
  }
  const selector = parseLabelSelector(target.labelSelector ?? "");
  if (!selector.ok) throw new RangeError(selector.message);
  return inOrder.flatMap(({ id, labels, address }) =>
    address !== null && selectorMatches(selector.terms, labels) ? [{ address, serverId: id }] : [],
  );
}

/** As bytes, not by a language's rules: the order is the same on every machine. */
export const compareIds = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
const byTargetId = (one: StoredTarget, other: StoredTarget) => compareIds(one.id, other.id);
