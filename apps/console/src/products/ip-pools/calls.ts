import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import type { OverviewProps } from "./props.ts";
import { ipPools } from "./resource.ts";

/** The actions of the overview as calls; those on ranges and addresses use the first one. */
export function overviewCalls(props: OverviewProps): readonly CalledOperation[] {
  const { pool, ranges, allocations, organisations } = props;
  const path = { ip_pool_id: pool.id };
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
  ];
  return calls.filter((call) => call !== null);
}

/** The pool's name, description and deletion as calls. */
export function settingsCalls(pool: Schemas["IpPool"]): readonly CalledOperation[] {
  return Object.values(callsOf(ipPools, pool));
}
