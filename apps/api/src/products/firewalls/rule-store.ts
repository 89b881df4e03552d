import type { Schemas } from "@kule/contract/schemas";
import type { Tx } from "../../platform/database.ts";
import { violatedReference } from "../../platform/database-errors.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { FirewallRow, StoredPeer, StoredRule } from "./store.ts";

export type RuleInput = Schemas["FirewallRuleInput"];

/** What a rule means, to decide whether two are equal; ids are not part of it. */
function meaningOf(rule: Omit<StoredRule, "id">): string {
  const { direction, action, protocol, ports, peers, priority, description, enabled } = rule;
  return JSON.stringify([direction, action, protocol, ports, peers, priority, description, enabled]);
}

/** The wanted rules, each with the id of an equal one from before, or a new one. */
export function withIds(
  wanted: readonly Omit<StoredRule, "id">[],
  there: readonly StoredRule[],
): StoredRule[] {
  const left = [...there];
  return wanted.map((rule) => {
    const at = left.findIndex((each) => meaningOf(each) === meaningOf(rule));
    const [same] = at === -1 ? [] : left.splice(at, 1);
    return { ...rule, id: same?.id ?? newId("fwr") };
  });
}

/** As it is stored: defaults filled in, blocks and ports in one way of writing. */
export function storedRule(input: RuleInput): Omit<StoredRule, "id"> {
  return {
    direction: input.direction ?? "in",
    action: input.action ?? "allow",
    protocol: input.protocol,
    ports: input.ports ?? [],
    peers: input.peers as StoredPeer[],
    priority: input.priority ?? 1000,
    description: input.description ?? "",
    enabled: input.enabled ?? true,
  };
}

export type RuleChanges = Schemas["FirewallRuleUpdate"];

/** The rule with the requested changes, under the same id. */
export function changedRule(
  rule: StoredRule,
  { position: _, peers, ...changes }: Partial<RuleChanges>,
): StoredRule {
  return { ...rule, ...changes, ...(peers === undefined ? {} : { peers: peers as StoredPeer[] }) };
}

/**
 * Replaces the firewall's rules by these. Its row must be locked.
 *
 * @throws Invalid when a subnet, a network or a firewall that a rule names was deleted after it was read
 */
export async function replaceRules(
  tx: Tx,
  firewall: Pick<FirewallRow, "id" | "organisation_id" | "region">,
  rules: readonly StoredRule[],
): Promise<void> {
  const { id: firewallId, organisation_id, region } = firewall;
  await tx
    .deleteFrom("firewall_rule")
    .where("organisation_id", "=", organisation_id)
    .where("firewall_id", "=", firewallId)
    .execute();
  if (rules.length === 0) return;
  await tx
    .insertInto("firewall_rule")
    .values(
      rules.map(({ peers: _, ports, ...rule }, position) => ({
        ...rule,
        ports: [...ports],
        organisation_id,
        region,
        firewall_id: firewallId,
        position,
      })),
    )
    .execute();
  await tx
    .insertInto("firewall_peer")
    .values(
      rules.flatMap(({ id, peers }) =>
        peers.map((peer, position) => ({
          rule_id: id,
          position,
          organisation_id,
          region,
          ...peerColumns(peer),
        })),
      ),
    )
    .execute()
    .catch((error: unknown) => {
      throw violatedReference(error)?.startsWith("firewall_peer") === true
        ? new Invalid([fieldError("/rules", "not_found", "a peer is not there any more")])
        : error;
    });
}

function peerColumns(peer: StoredPeer) {
  const none = {
    cidr: null,
    subnet_id: null,
    network_id: null,
    peer_firewall_id: null,
    label_selector: null,
  };
  if ("cidr" in peer) return { ...none, kind: "cidr", cidr: peer.cidr };
  if ("subnet_id" in peer) return { ...none, kind: "subnet", subnet_id: peer.subnet_id };
  if ("network_id" in peer) return { ...none, kind: "network", network_id: peer.network_id };
  if ("firewall_id" in peer) return { ...none, kind: "firewall", peer_firewall_id: peer.firewall_id };
  if ("label_selector" in peer) return { ...none, kind: "labels", label_selector: peer.label_selector };
  return { ...none, kind: "any" };
}
