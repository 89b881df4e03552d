import type { FilteredServer, Firewall, FirewallTarget, Peer } from "@kule/rules/firewalls/firewall";
import { parsePorts } from "@kule/rules/firewalls/ports";
import { type LabelTerm, parseLabelSelector } from "@kule/rules/labels/selector";
import type { IntentSubnet, NetworkIntent } from "@kule/rules/networks/intent";
import type { Tier } from "@kule/rules/networks/tiers";
import { parseIpBlock } from "@kule/rules/public-ips/addresses";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { gatewaysOf } from "../gateways/index.ts";
import { type FirewallDetails, firewallsOf, type StoredPeer, type StoredRule } from "./store.ts";

/**
 * Everything that decides which traffic is allowed among the organisation's servers of a region, as the rules
 * want it.
 */
export async function loadIntent(
  db: Database | Tx,
  organisationId: string,
  region: string,
): Promise<NetworkIntent> {
  return {
    subnets: await subnetsOf(db, organisationId, region),
    servers: await serversOf(db, organisationId, region),
    firewalls: (await firewallsOf(db, organisationId, region)).map(asRules),
    gateways: await gatewaysOf(db, organisationId, region),
  };
}

async function subnetsOf(db: Database | Tx, organisationId: string, region: string): Promise<IntentSubnet[]> {
  const rows = await db
    .selectFrom("subnet")
    .select(["id", "network_id", "tier", "cidr", sql<string>`host(gateway_ip)`.as("router")])
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .execute();
  return rows.map(({ id, network_id, tier, cidr, router }) => ({
    id,
    networkId: network_id,
    tier: tier as Tier,
    cidr,
    routerAddress: router,
  }));
}

async function serversOf(
  db: Database | Tx,
  organisationId: string,
  region: string,
): Promise<FilteredServer[]> {
  const { rows } = await sql<{
    id: string;
    labels: Record<string, string> | null;
    interfaces: { subnetId: string; address: string }[];
    public_addresses: string[];
    shared_addresses: string[] | null;
  }>`
    select s.id, case when s.managed_by_type is null then s.labels end as labels,
           coalesce((select json_agg(json_build_object('subnetId', n.subnet_id, 'address', host(a.address)) order by n.position)
              from nic n
              join address a on a.organisation_id = n.organisation_id and a.nic_id = n.id
             where n.organisation_id = s.organisation_id and n.server_id = s.id), '[]'::json) as interfaces,
           -- Those that its VM may have now: one that is on its way to it is still another's.
           coalesce((select array_agg(host(i.address) order by i.version, i.id) from public_ip i
             where i.organisation_id = s.organisation_id and i.held_by = s.id), '{}') as public_addresses,
           -- Those of its load balancer, which its other server may have as well.
           case when s.managed_by_type = 'load_balancer' then array(
             select host(a.address) from address a
              where a.organisation_id = s.organisation_id and a.load_balancer_id = s.managed_by_id
             union all
             select host(i.address) from public_ip i
              where i.organisation_id = s.organisation_id and i.load_balancer_id = s.managed_by_id) end as shared_addresses
      from server s
     where s.organisation_id = ${organisationId} and s.region = ${region} and s.deleted_at is null`.execute(
    db,
  );
  return rows.map(({ id, labels, interfaces, public_addresses, shared_addresses }) => ({
    id,
    organisationId,
    region,
    labels,
    interfaces,
    publicAddresses: public_addresses,
    ...(shared_addresses === null ? {} : { sharedAddresses: shared_addresses }),
  }));
}

/** A firewall in the form that the rules use. */
export function asRules(firewall: FirewallDetails): Firewall {
  return {
    id: firewall.id,
    organisationId: firewall.organisation_id,
    region: firewall.region,
    rules: firewall.rules.map(asRule),
    targets: firewall.attachments.flatMap((each): FirewallTarget[] => {
      if (each.server_id !== null) return [{ kind: "server", serverId: each.server_id }];
      if (each.subnet_id !== null) return [{ kind: "subnet", subnetId: each.subnet_id }];
      return [{ kind: "labels", terms: termsOf(each.label_selector ?? "") }];
    }),
  };
}

function asRule({ id, direction, action, protocol, ports, peers, priority, enabled }: StoredRule) {
  return {
    id,
    direction,
    action,
    protocol,
    ports: ports.flatMap((text) => parsePorts(text) ?? []),
    peers: peers.map(asPeer),
    priority,
    isEnabled: enabled,
  };
}

function asPeer(peer: StoredPeer): Peer {
  if ("cidr" in peer) {
    const block = parseIpBlock(peer.cidr);
    if (block === null) throw new Error(`a rule is about ${peer.cidr}, which is no block`);
    return { kind: "block", block };
  }
  if ("subnet_id" in peer) return { kind: "subnet", subnetId: peer.subnet_id };
  if ("network_id" in peer) return { kind: "network", networkId: peer.network_id };
  if ("firewall_id" in peer) return { kind: "firewall", firewallId: peer.firewall_id };
  if ("label_selector" in peer) return { kind: "labels", terms: termsOf(peer.label_selector) };
  return { kind: "any" };
}

/** Of a selector that was validated when it was stored. */
function termsOf(selector: string): readonly LabelTerm[] {
  const parsed = parseLabelSelector(selector);
  if (!parsed.ok) throw new Error(`${selector} ${parsed.message}`);
  return parsed.terms;
}
