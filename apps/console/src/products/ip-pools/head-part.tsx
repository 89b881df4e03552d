import type { Schemas } from "@kule/contract/schemas";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { ipPools } from "./resource.ts";

/** The header of a pool. */
export const headedIpPools: HeadedResource<Schemas["IpPool"]> = {
  resource: ipPools,
  headOf: (_view, pool) => ({
    lead: [pool.description, pool.region, `IPv${pool.version}`].filter((text) => text !== "").join(" · "),
    calls: [{ operation: "getIpPool", path: { ip_pool_id: pool.id } }],
  }),
};
