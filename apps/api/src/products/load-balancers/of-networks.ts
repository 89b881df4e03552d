import { inUse } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";
import type { NetworkHooks } from "../networks/index.ts";

/** The hooks of load balancers for networks: one that has a load balancer stays. */
export const loadBalancersOfNetworks: NetworkHooks = {
  usedBy: async (tx, organisationId, what) => {
    const isNetwork = "network_id" in what;
    const [column, id] = isNetwork
      ? (["network_id", what.network_id] as const)
      : (["subnet_id", what.subnet_id] as const);
    const row = await tx
      .selectFrom("load_balancer")
      .select(["id", "is_deleting"])
      .where("organisation_id", "=", organisationId)
      .where(column, "=", id)
      .orderBy("id")
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) return null;
    return new Conflict(
      inUse(
        isNetwork ? "network_without_load_balancer" : "subnet_without_load_balancer",
        `the ${isNetwork ? "network" : "subnet"} has a load balancer`,
        { resource: row.id, fix: row.is_deleting ? null : `DELETE /load-balancers/${row.id}` },
      ),
    );
  },
};
