import type { Violation } from "@kule/invariants/violation";
import type pg from "pg";

/** A network's wanted state at an edge, by the database. */
type WantedNetwork = {
  readonly networkId: string;
  readonly generation: number;
  readonly subnets: readonly {
    readonly subnetId: string;
    readonly tier: string;
    readonly vlan: number;
    readonly cidr: string;
    readonly gatewayAddress: string;
  }[];
  readonly gateway: {
    readonly gatewayId: string;
    readonly address: string;
    readonly prefixLength: number;
    readonly nextHop: string;
    readonly vlan: number | null;
    readonly subnetIds: readonly string[];
    readonly portForwards: readonly {
      readonly protocol: string;
      readonly listenPort: number;
      readonly targetAddress: string;
      readonly targetPort: number;
    }[];
  } | null;
};

/** The real state of a region's edge. */
export type EdgeView = {
  readonly region: string;
  /** The networks that have a namespace there. */
  networks(): Promise<readonly string[]>;
  /** The differences of the edge's state from the wanted one, in words. */
  differences(want: WantedNetwork): Promise<readonly string[]>;
};

/**
 * Compares an edge's state with the wanted one in the database: I14. A network with an open job is not
 * checked.
 */
export async function edgeViolations(client: pg.ClientBase, edge: EdgeView): Promise<Violation[]> {
  const wanted = await wantedNetworks(client, edge.region);
  const there = new Set(await edge.networks());
  const violations: Violation[] = [];
  const note = (check: string, subject: string) => violations.push({ invariant: "I14", check, subject });
  for (const { want, is_due } of wanted)
    if (is_due)
      for (const difference of await edge.differences(want))
        note("an edge holds what is wanted of a network", `${want.networkId} ${difference}`);
  const known = new Set(wanted.map(({ want }) => want.networkId));
  for (const id of there) if (!known.has(id)) note("an edge holds no network that is gone", id);
  return violations;
}

/** All networks that were applied to an edge; `is_due` when no change of them is pending. */
export async function wantedNetworks(
  client: Pick<pg.ClientBase, "query">,
  region: string,
): Promise<readonly { readonly want: WantedNetwork; readonly is_due: boolean }[]> {
  const { rows } = await client.query<{ want: WantedNetwork; is_due: boolean }>(WANTED, [region]);
  return rows;
}

/**
 * The edge may still have what is being deleted as long as no job has removed it: the wanted part is
 * compared.
 */
const WANTED = `
  select n.status = 'active' and not exists (select 1 from job j where j.resource_id = n.id
           and j.status in ('queued', 'running')) as is_due,
         json_build_object(
    'networkId', n.id, 'generation', n.edge_generation,
    'subnets', coalesce((
      select json_agg(json_build_object('subnetId', s.id, 'tier', s.tier, 'vlan', v.vlan, 'cidr', s.cidr,
                                        'gatewayAddress', host(s.gateway_ip)) order by s.id)
        from subnet s join region_vlan v on v.subnet_id = s.id where s.network_id = n.id and s.status <> 'deleting'), '[]'),
    'gateway', (
      select json_build_object('gatewayId', g.id, 'address', host(i.address), 'prefixLength', p.prefix_length,
                               'nextHop', host(p.gateway), 'vlan', p.vlan,
        'subnetIds', coalesce((select json_agg(u.subnet_id order by u.subnet_id) from gateway_subnet u
                                where u.gateway_id = g.id and u.left_generation is null), '[]'),
        'portForwards', coalesce((select json_agg(json_build_object('protocol', f.protocol, 'listenPort', f.listen_port,
              'targetAddress', host(f.target_address), 'targetPort', f.target_port) order by f.protocol, f.listen_port)
             from port_forward f where f.gateway_id = g.id and f.left_generation is null), '[]'))
        from gateway g join public_ip i on i.gateway_id = g.id join ip_pool p on p.id = i.pool_id
       where g.network_id = n.id and not g.is_deleting)) as want
    from network n where n.region = $1 and n.on_edge order by n.id`;
