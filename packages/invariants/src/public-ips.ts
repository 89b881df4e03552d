import { type Check, isOpen } from "./check.ts";

const openJob = (serverId: string) =>
  `exists (select 1 from job j where j.resource_id = ${serverId} and ${isOpen()})`;
const isBeingDeleted = (serverId: string) =>
  `exists (select 1 from server s where s.id = ${serverId} and s.status in ('pending_deletion', 'deleting'))`;

/**
 * Public addresses: none lost, none twice, none pending without a job, none where internet access is
 * forbidden.
 */
export const publicIpChecks: readonly Check[] = [
  {
    invariant: "I4",
    check: "the free, used, quarantined and reserved addresses of a range add up to it",
    sql: `select r.id || ' has ' || coalesce(a.n, 0) || ' of ' || (r.last_address - r.first_address + 1) || ' addresses, '
                 || coalesce(a.outside, 0) || ' outside' as subject
            from ip_pool_range r
            left join (select a.range_id, count(*) n, count(*) filter (
                                where not a.address between r.first_address and r.last_address or a.pool_id <> r.pool_id) outside
                         from public_address a join ip_pool_range r on r.id = a.range_id group by a.range_id) a on a.range_id = r.id
           where (a.n, a.outside) is distinct from (r.last_address - r.first_address + 1, 0)`,
  },
  {
    invariant: "I4",
    check: "a public IP has its address, and a used address its public IP",
    sql: `select i.id || ' without ' || host(i.address) as subject from public_ip i
           where not exists (select 1 from public_address a where a.public_ip_id = i.id and a.address = i.address
                                and a.pool_id = i.pool_id and a.allocated_to = i.organisation_id and a.state = 'used')
          union all
          select host(a.address) || ' of ' || a.public_ip_id from public_address a
           where a.state = 'used' and not exists (select 1 from public_ip i where i.id = a.public_ip_id)`,
  },
  {
    invariant: "I4",
    check: "the reverse name that is to be served is the one of the public IP, or else of its pool",
    sql: `select host(i.address) || ' of ' || i.id as subject from public_ip i
            join ip_pool o on o.id = i.pool_id
            left join public_pointer p on p.address = i.address
           where coalesce(i.ptr, kule_reverse_name(o.reverse_name, i.address)) is distinct from p.wanted
          union all
          select host(p.address) || ' of nobody' from public_pointer p
           where p.wanted is not null and not exists (select 1 from public_ip i where i.address = p.address)`,
  },
  {
    invariant: "I4",
    check: "no public IP of a deleted server",
    sql: `select i.id || ' of ' || s.id as subject from public_ip i
            join server s on s.id in (i.server_id, i.held_by) where s.status = 'deleted'`,
  },
  {
    invariant: "I4",
    check: "a network's own address, its gateway and its broadcast address are never assigned",
    sql: `select host(a.address) || ' of ' || p.id as subject from public_address a join ip_pool p on p.id = a.pool_id
            cross join lateral (select set_masklen(p.gateway, p.prefix_length) as network) n
           where a.state <> 'reserved' and (a.address = p.gateway
             or (p.version = 6 or p.prefix_length < 31) and a.address = host(network(n.network))::inet
             or p.version = 4 and p.prefix_length < 31 and a.address = host(broadcast(n.network))::inet)`,
  },
  {
    invariant: "I4",
    check: "no server in a data subnet has a public IP",
    sql: `select i.id || ' of ' || i.server_id as subject from public_ip i
            join nic n on n.server_id = i.server_id join subnet u on u.id = n.subnet_id where u.tier = 'data'
          union all
          select i.id || ' of ' || b.id from public_ip i
            join load_balancer b on b.id = i.load_balancer_id join subnet u on u.id = b.subnet_id where u.tier = 'data'`,
  },
  {
    invariant: "I5",
    check: "a public IP in transition has a job, or a reason why it has none",
    sql: `select i.id || ' to ' || i.server_id as subject from public_ip i
           where i.status_code is null and i.server_id = i.held_by and not i.is_applied
             and not ${isBeingDeleted("i.server_id")} and not ${openJob("i.server_id")}
          union all
          select i.id || ' off ' || i.held_by from public_ip i
           where i.status_code is null and i.held_by is distinct from i.server_id
             and not ${isBeingDeleted("i.held_by")} and not ${openJob("i.held_by")}`,
  },
];
