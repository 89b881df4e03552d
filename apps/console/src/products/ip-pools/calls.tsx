import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { callsOf } from "../../resources/resource.ts";
import type { PoolPageProps } from "./props.ts";
import { ipPools } from "./resource.ts";

/** All actions of a pool's page as calls; those on ranges and addresses use the first one. */
export function PoolCalls({ view, pool, ranges, allocations, organisations }: PoolPageProps) {
  const path = { ip_pool_id: pool.id };
  const change = callsOf(ipPools, pool);
  const [range] = ranges;
  const [allocation] = allocations.items;
  const calls: readonly (CalledOperation | null)[] = [
    { operation: "getIpPoolUtilisation", path },
    {
      operation: "addIpPoolRange",
      path,
      body: { cidr: pool.version === 6 ? "2001:db8::/120" : "203.0.113.0/28" },
    },
    range === undefined ? null : { operation: "removeIpPoolRange", path: { ...path, range_id: range.id } },
    {
      operation: "allocateIpPoolAddresses",
      path,
      body: { organisation_id: organisations[0]?.id ?? "org_…", count: 1 },
    },
    allocation === undefined
      ? null
      : { operation: "withdrawIpPoolAddress", path: { ...path, address: allocation.address } },
    change.update,
    change.delete,
  ];
  return <ApiCalls view={view} calls={calls.filter((call) => call !== null)} />;
}
