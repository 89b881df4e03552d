import { type Check, isOpen } from "./check.ts";

/** The allocations of a region and a subnet: each number with one owner, and none lost. */
export const allocationChecks: readonly Check[] = [
  {
    invariant: "I3",
    check: "a live server has exactly one VM number, one primary interface and one address",
    by: "server",
    sql: `select s.id as key, s.id || ' has ' || coalesce(v.n, 0) || ' VMIDs, ' || coalesce(n.n, 0) || ' interfaces, '
                 || coalesce(n.addresses, 0) || ' addresses' as subject
            from server s
            left join (select server_id, region, count(*) n from region_vmid where state = 'used' and within(server_id)
                        group by server_id, region) v on v.server_id = s.id and v.region = s.region
            left join (select nic.server_id, count(distinct nic.id) n, count(a.address) addresses
                         from nic left join address a on a.nic_id = nic.id and a.state = 'used'
                        where nic.position = 0 and within(nic.server_id) group by nic.server_id) n on n.server_id = s.id
           where within(s.id) and s.status <> 'deleted' and (v.n, n.n, n.addresses) is distinct from (1::bigint, 1::bigint, 1::bigint)`,
  },
  {
    invariant: "I4",
    check: "no address, VM number or interface of a server that is gone",
    by: "server",
    sql: `select s.id as key, 'address ' || host(a.address) || ' of ' || s.id as subject
            from address a join nic n on n.id = a.nic_id join server s on s.id = n.server_id
           where a.state = 'used' and s.status = 'deleted' and within(n.server_id) and within(s.id)
          union all
          select v.server_id, 'VMID ' || v.vmid || ' of ' || v.server_id from region_vmid v
            left join server s on s.id = v.server_id
           where within(v.server_id) and v.state = 'used' and (s.id is null or s.status = 'deleted' or s.region <> v.region)
          union all
          select s.id, 'interface ' || n.id from nic n join server s on s.id = n.server_id
           where s.status = 'deleted' and within(n.server_id) and within(s.id)`,
  },
  {
    invariant: "I4",
    check: "a used address is the address of an interface",
    by: "subnet",
    sql: `select a.subnet_id as key, 'address ' || host(a.address) || ' of nobody' as subject
            from address a left join nic n on n.id = a.nic_id left join server s on s.id = n.server_id
           where a.state = 'used' and within(a.subnet_id) and s.id is null`,
  },
  {
    invariant: "I4",
    check: "nothing is allocated to a server in transition without its job",
    // A destroy that failed keeps the server's allocations on purpose.
    sql: `with adrift as materialized (
            select s.id from server s
             where s.status in ('creating', 'starting', 'stopping', 'rebooting', 'resizing', 'rebuilding', 'deleting')
               and not exists (select 1 from job j where j.resource_id = s.id and (${isOpen()} or j.status = 'failed')))
          select host(a.address) || ' of ' || s.id as subject
            from adrift s join nic n on n.server_id = s.id join address a on a.nic_id = n.id where a.state = 'used'
          union all
          select 'VMID ' || v.vmid || ' of ' || s.id from adrift s join region_vmid v on v.server_id = s.id
           where v.state = 'used'`,
  },
  {
    invariant: "I4",
    check: "every subnet has one VLAN, of its region",
    sql: `select u.id || ' has ' || count(v.vlan) || ' VLANs' as subject
            from subnet u left join region_vlan v on v.subnet_id = u.id and v.region = u.region
           group by u.id having count(v.vlan) <> 1
          union all
          select 'VLAN ' || v.vlan || ' of ' || v.subnet_id from region_vlan v left join subnet u on u.id = v.subnet_id
           where v.subnet_id is not null and (u.id is null or u.region <> v.region)`,
  },
  {
    invariant: "I4",
    check: "an address is inside of its subnet",
    by: "subnet",
    sql: `select a.subnet_id as key, host(a.address) || ' is not in ' || u.cidr as subject from address a join subnet u on u.id = a.subnet_id
           where within(a.subnet_id) and within(u.id) and not a.address <<= u.cidr`,
  },
  {
    invariant: "I4",
    check: "a reservation keeps an address of its subnet that a server can have",
    sql: `select r.id || ' keeps ' || coalesce(host(a.address), 'no address') as subject
            from address_reservation r join subnet u on u.id = r.subnet_id
            left join address a on a.reservation_id = r.id
           where a.address is null or a.subnet_id <> r.subnet_id or not a.address << u.cidr
              or a.address in (host(network(u.cidr))::inet, u.gateway_ip, host(broadcast(u.cidr))::inet)`,
  },
  {
    invariant: "I4",
    check: "an address that cannot be assigned is the platform's, reserved or a load balancer's",
    by: "subnet",
    sql: `select a.subnet_id as key, host(a.address) || ' of ' || u.id as subject from address a join subnet u on u.id = a.subnet_id
           where within(a.subnet_id) and within(u.id) and a.state = 'reserved' and a.reservation_id is null and a.load_balancer_id is null
             and a.address <<= u.cidr
             and a.address not in (host(network(u.cidr))::inet, u.gateway_ip, host(broadcast(u.cidr))::inet)`,
  },
  pool("VM numbers", "VMIDs", "region_vmid", "vmid"),
  pool("VLANs", "VLANs", "region_vlan", "vlan"),
  {
    invariant: "I4",
    check: "a free VM number has no server, and a quarantined one is released",
    by: "region",
    // The worker releases them every ten minutes.
    sql: `select region as key, 'VMID ' || region || '/' || vmid || ' is ' || state || coalesce(' and of ' || server_id, '') as subject
            from region_vmid
           where within(region) and (state = 'free' and server_id is not null
              or state = 'tombstone' and (free_after is null or free_after < clock_timestamp() - interval '1 hour'))`,
  },
  {
    invariant: "I4",
    check: "no address below a subnet's mark is lost, and its reserved ones are kept",
    by: "subnet",
    // Addresses below lowest_free_hint are never searched: one there without a row is lost.
    sql: `select u.id as key, u.id || ' lost ' || (u.lowest_free_hint - network.address - a.below) || ' addresses below '
                 || host(u.lowest_free_hint) as subject
            from subnet u
            join (select subnet_id, count(*) filter (where address.address < subnet.lowest_free_hint) below
                    from address join subnet on subnet.id = address.subnet_id
                   where within(address.subnet_id) and within(subnet.id) group by subnet_id) a on a.subnet_id = u.id
            cross join lateral (select host(network(u.cidr))::inet as address) network
           where within(u.id) and a.below <> u.lowest_free_hint - network.address
          union all
          select u.id, u.id || ' reserves ' || count(a.address) || ' of its 3 addresses' from subnet u
            left join address a on a.subnet_id = u.id and a.state = 'reserved'
             and a.address in (host(network(u.cidr))::inet, u.gateway_ip, host(broadcast(u.cidr))::inet)
             and within(a.subnet_id)
           where within(u.id) group by u.id having count(a.address) <> 3`,
  },
];

/** A region's numbers have a row each, whatever their state: free, used and resting ones add up to the range. */
function pool(what: string, short: string, table: string, column: string): Check {
  return {
    invariant: "I4",
    check: `the free, used and quarantined ${what} of a region add up to its range`,
    by: "region",
    sql: `select r.slug as key, r.slug || ' has ' || coalesce(p.n, 0) || ' of ' || (r.${column}_last - r.${column}_first + 1) || ' ${short}'
                 || ', ' || coalesce(p.outside, 0) || ' outside' as subject
            from region r
            left join (select p.region, count(*) n,
                              count(*) filter (where not p.${column} between r.${column}_first and r.${column}_last) outside
                         from ${table} p join region r on r.slug = p.region where within(p.region) group by p.region) p on p.region = r.slug
           where within(r.slug) and (p.n, p.outside) is distinct from (r.${column}_last - r.${column}_first + 1, 0)`,
  };
}
