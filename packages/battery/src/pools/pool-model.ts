import type pg from "pg";

export const REGION = "pool1";
export const VMID_RANGE = { first: 20_000, last: 20_199 };
/** Public addresses of the region: few, so that released ones are reserved again soon. */
export const PUBLIC = { gateway: "100.99.0.1", prefixLength: 28, cidr: "100.99.0.0/28", allocated: 12 };
export const VLAN_RANGE = { first: 100, last: 124 };

const sizeOf = ({ first, last }: { first: number; last: number }) => last - first + 1;

const PUBLIC_SIZE = 16;
/** Network, gateway and broadcast. */
const PUBLIC_RESERVED = 3;

/**
 * What must be allocated, counted from the answers of the API and the reports of the agent, and never from
 * the tables of the allocations.
 */
export class PoolModel {
  /** Existing servers, with the subnet of each. */
  readonly servers = new Map<string, string>();
  /** Subnets, with the network of each. */
  readonly subnets = new Map<string, string>();
  /** Public addresses that were reserved and not released, by their id. */
  readonly publicIps = new Map<string, string>();
  /** Those that were released, and whose quarantine is not over. */
  readonly resting = new Set<string>();
  destroyed = 0;
  replacedVmids = 0;
  freedVmids = 0;
}

type Count = { readonly pool: string; readonly state: string; readonly count: number };

/** Where free + used + quarantined is not the size of a pool, or used differs from the model. */
export async function poolViolations(owner: pg.Pool, model: PoolModel): Promise<string[]> {
  const { rows } = await owner.query<Count>(
    `select 'VM numbers' as pool, state, count(*)::int from region_vmid where region = $1 group by state
     union all
     select 'VLANs', case when subnet_id is null then 'free' else 'used' end, count(*)::int from region_vlan
      where region = $1 group by 2
     union all
     select 'public addresses', case when a.state = 'quarantined' and a.free_after <= clock_timestamp() then 'free'
                                     else a.state end, count(*)::int
       from public_address a join ip_pool p on p.id = a.pool_id where p.region = $1 group by 2`,
    [REGION],
  );
  const count = (pool: string, state: string) =>
    rows.find((row) => row.pool === pool && row.state === state)?.count ?? 0;
  const all = (pool: string) =>
    rows.filter((row) => row.pool === pool).reduce((sum, row) => sum + row.count, 0);
  const found: string[] = [];
  const expect = (what: string, is: number, wanted: number) => {
    if (is !== wanted) found.push(`${what}: ${is}, and not ${wanted}`);
  };
  const resting = model.destroyed - model.freedVmids;
  expect("VM numbers in all", all("VM numbers"), sizeOf(VMID_RANGE));
  expect("VM numbers used", count("VM numbers", "used"), model.servers.size);
  expect("VM numbers at rest", count("VM numbers", "tombstone"), resting);
  expect("VM numbers in quarantine", count("VM numbers", "quarantined"), model.replacedVmids);
  expect(
    "VM numbers free",
    count("VM numbers", "free"),
    sizeOf(VMID_RANGE) - model.servers.size - resting - model.replacedVmids,
  );
  expect("VLANs in all", all("VLANs"), sizeOf(VLAN_RANGE));
  expect("VLANs used", count("VLANs", "used"), model.subnets.size);
  const [ips, still] = [model.publicIps.size, model.resting.size];
  expect("public addresses in all", all("public addresses"), PUBLIC_SIZE);
  expect("public addresses reserved", count("public addresses", "reserved"), PUBLIC_RESERVED);
  expect("public addresses used", count("public addresses", "used"), ips);
  expect("public addresses at rest", count("public addresses", "quarantined"), still);
  expect(
    "public addresses free",
    count("public addresses", "free"),
    PUBLIC_SIZE - PUBLIC_RESERVED - ips - still,
  );
  return [...found, ...(await addressViolations(owner, model))];
}

type SubnetCount = {
  readonly id: string;
  readonly size: number;
  readonly outside: number;
  readonly used: number;
  readonly resting: number;
  readonly reserved: number;
  readonly rows: number;
  readonly owned: number;
};

async function addressViolations(owner: pg.Pool, model: PoolModel): Promise<string[]> {
  const { rows } = await owner.query<SubnetCount>(
    `select s.id, (2 ^ (32 - masklen(s.cidr)))::int as size,
            count(*) filter (where not a.address <<= s.cidr)::int as outside,
            count(*) filter (where a.state = 'used')::int as used,
            count(*) filter (where a.state = 'quarantined')::int as resting,
            count(*) filter (where a.state = 'reserved')::int as reserved,
            count(a.address)::int as rows,
            (select count(*)::int from nic n where n.subnet_id = s.id) as owned
       from subnet s left join address a on a.subnet_id = s.id where s.region = $1 group by s.id`,
    [REGION],
  );
  const inSubnet = Map.groupBy(model.servers.values(), (subnet) => subnet);
  const found = rows.flatMap(({ id, size, outside, used, resting, reserved, rows: known, owned }) => {
    const wanted = inSubnet.get(id)?.length ?? 0;
    return [
      ...(used === wanted ? [] : [`addresses used in ${id}: ${used}, and not ${wanted}`]),
      ...(owned === wanted ? [] : [`interfaces in ${id}: ${owned}, and not ${wanted}`]),
      ...(used + resting + reserved === known && known <= size && outside === 0
        ? []
        : [
            `addresses of ${id} do not add up: ${JSON.stringify({ size, used, resting, reserved, known, outside })}`,
          ]),
    ];
  });
  if (rows.length !== model.subnets.size)
    found.push(`subnets: ${rows.length}, and not ${model.subnets.size}`);
  return found;
}
