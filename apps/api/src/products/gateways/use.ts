import { inUse } from "@kule/rules/refusals";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { hasOpenJob, type UsedPlace } from "../networks/index.ts";
import { gatewayIn } from "./store.ts";

/**
 * Why a subnet or a network cannot be deleted: it has a gateway, or the edge has not removed it yet; null
 * when neither.
 */
export async function usedByGateway(
  tx: Tx,
  organisationId: string,
  what: UsedPlace,
): Promise<Conflict | null> {
  if ("network_id" in what) {
    const gateway = await gatewayIn(tx, organisationId, what.network_id);
    if (gateway === null) return null;
    return new Conflict(
      inUse(
        "network_without_gateway",
        gateway.is_deleting
          ? "the region's edge has not removed the network's gateway yet"
          : "the network has a gateway",
        {
          resource: gateway.id,
          fix: (await isOnItsWay(tx, gateway.is_deleting, gateway)) ? null : `DELETE /gateways/${gateway.id}`,
        },
      ),
    );
  }
  const served = await tx
    .selectFrom("gateway_subnet")
    .select(["organisation_id", "network_id", "gateway_id", "left_generation"])
    .where("organisation_id", "=", organisationId)
    .where("subnet_id", "=", what.subnet_id)
    .executeTakeFirst();
  if (served === undefined) return null;
  const isLeaving = served.left_generation !== null;
  return new Conflict(
    inUse(
      "subnet_without_gateway",
      isLeaving ? "the region's edge still lets the subnet out" : "a gateway serves the subnet",
      {
        resource: served.gateway_id,
        fix: (await isOnItsWay(tx, isLeaving, served))
          ? null
          : `DELETE /gateways/${served.gateway_id}/subnets/${what.subnet_id}`,
      },
    ),
  );
}

/** Whether waiting is enough. Where the job has failed, the change must be requested again. */
async function isOnItsWay(
  tx: Tx,
  isLeaving: boolean,
  { organisation_id, network_id }: { readonly organisation_id: string; readonly network_id: string },
): Promise<boolean> {
  return isLeaving && (await hasOpenJob(tx, organisation_id, network_id));
}
