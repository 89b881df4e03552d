import { type Check, isOpen } from "./check.ts";

/** What must hold for gateways, other than ownership and uniqueness. */
export const gatewayChecks: readonly Check[] = [
  {
    invariant: "I4",
    check: "a gateway holds a public IPv4 address that no server has",
    sql: `select g.id || ' has ' || count(i.id) || ' addresses' as subject from gateway g
            left join public_ip i on i.gateway_id = g.id and i.version = 4 and i.server_id is null and i.held_by is null
              and i.region = g.region
           group by g.id having count(i.id) <> 1`,
  },
  {
    invariant: "I4",
    check: "no gateway serves a data subnet",
    sql: `select u.subnet_id || ' by ' || u.gateway_id as subject from gateway_subnet u
            join subnet s on s.id = u.subnet_id where s.tier = 'data' or u.tier <> s.tier`,
  },
  {
    invariant: "I4",
    check: "a gateway serves subnets of its network",
    sql: `select u.subnet_id || ' by ' || u.gateway_id as subject from gateway_subnet u
            join subnet s on s.id = u.subnet_id join gateway g on g.id = u.gateway_id
           where s.network_id <> g.network_id or u.network_id <> g.network_id`,
  },
  {
    invariant: "I4",
    check: "a port is forwarded into a subnet that the gateway serves",
    sql: `select f.id || ' into ' || f.subnet_id as subject from port_forward f
           where not exists (select 1 from gateway_subnet u where u.subnet_id = f.subnet_id and u.gateway_id = f.gateway_id
                                and (u.left_generation is null or f.left_generation <= u.left_generation))`,
  },
  {
    invariant: "I4",
    check: "a forwarded port leads to its server, and to no other until the edge has removed it",
    sql: `select f.id || ' to ' || host(f.target_address) as subject from port_forward f
            left join address a on a.subnet_id = f.subnet_id and a.address = f.target_address
            left join nic n on n.id = a.nic_id
           where case when f.left_generation is null then n.server_id is distinct from f.server_id
                      else n.server_id <> f.server_id end`,
  },
  {
    invariant: "I5",
    check: "a gateway in transition has a job, or a reason why it has none",
    sql: `select g.id as subject from gateway g
           where (g.is_deleting or g.observed_generation < g.generation) and g.status_code is null
             and not exists (select 1 from job j where j.resource_id = g.network_id and ${isOpen()})`,
  },
  {
    invariant: "I5",
    check: "what a gateway serves or forwards is in force, being applied or being removed",
    sql: `select x.id || ' of ' || g.id as subject from gateway g
            join (select subnet_id as id, gateway_id, is_applied, left_generation from gateway_subnet
                  union all select id, gateway_id, is_applied, left_generation from port_forward) x on x.gateway_id = g.id
           where g.observed_generation = g.generation and not g.is_deleting
             and (x.left_generation is not null or not x.is_applied)`,
  },
];
