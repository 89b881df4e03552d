import { type Check, isOpen } from "./check.ts";

/** What must hold for load balancers, other than ownership and uniqueness. */
export const loadBalancerChecks: readonly Check[] = [
  {
    invariant: "I4",
    check: "the server of a load balancer's machine exists, and the load balancer manages it",
    sql: `select m.load_balancer_id || ' has ' || m.server_id || ' in slot ' || m.slot as subject
            from load_balancer_machine m left join server s on s.id = m.server_id
           where m.server_id is not null and (s.id is null or s.deleted_at is not null
              or s.managed_by_type is distinct from 'load_balancer' or s.managed_by_id is distinct from m.load_balancer_id)`,
  },
  {
    invariant: "I4",
    check: "a load balancer has a machine in each of its slots and in no other",
    sql: `select b.id || ' has ' || count(m.slot) || ' machines' as subject from load_balancer b
            left join load_balancer_machine m on m.load_balancer_id = b.id and (b.ha or m.slot = 1)
           group by b.id, b.ha having count(m.slot) <> case when b.ha then 2 else 1 end
          union all
          select b.id || ' has slot ' || m.slot from load_balancer b join load_balancer_machine m on m.load_balancer_id = b.id
           where not b.ha and m.slot <> 1`,
  },
  {
    invariant: "I4",
    check: "no server of a load balancer that is gone",
    sql: `select s.id || ' of ' || s.managed_by_id as subject from server s
           where s.deleted_at is null and s.managed_by_type = 'load_balancer'
             and not exists (select 1 from load_balancer b
                              where b.id = s.managed_by_id and b.organisation_id = s.organisation_id and b.region = s.region)`,
  },
  {
    invariant: "I4",
    check: "two machines share an address of their subnet, and one machine shares none",
    sql: `select b.id || ' shares ' || coalesce(host(a.address), 'nothing') as subject from load_balancer b
            left join address a on a.load_balancer_id = b.id
           where b.ha is distinct from (a.address is not null)
              or a.address is not null and (a.subnet_id <> b.subnet_id or a.state <> 'reserved')`,
  },
  {
    invariant: "I4",
    check: "two machines share the load balancer's public address, which no server has",
    sql: `select b.id || ' has ' || b.public_ip_id as subject from load_balancer b
            left join public_ip i on i.id = b.public_ip_id and i.load_balancer_id = b.id
              and i.server_id is null and i.held_by is null and i.gateway_id is null and i.version = 4
           where b.ha and b.public_ip_id is not null and i.id is null
          union all
          select i.id || ' of ' || i.load_balancer_id from public_ip i
           where i.load_balancer_id is not null and not exists (
             select 1 from load_balancer b where b.id = i.load_balancer_id and b.ha and b.public_ip_id = i.id)`,
  },
  {
    invariant: "I4",
    check: "no machine is said to have what was never wanted",
    sql: `select b.id || ' in slot ' || m.slot as subject from load_balancer b
            join load_balancer_machine m on m.load_balancer_id = b.id
           where m.observed_generation > b.generation
          union all
          select b.id from load_balancer b where b.observed_generation > b.generation or b.wanted_generation > b.generation`,
  },
  {
    invariant: "I5",
    check: "a load balancer that was never applied has a job, or a reason why it has none",
    sql: `select b.id as subject from load_balancer b
           where b.observed_generation = 0 and not b.is_deleting and b.failure is null
             and exists (select 1 from load_balancer_machine m where m.load_balancer_id = b.id and m.server_id is not null)
             and not exists (select 1 from job j where ${isOpen()} and (j.resource_id = b.id or j.resource_id in (
                               select m.server_id from load_balancer_machine m where m.load_balancer_id = b.id)))`,
  },
];
