import type { GatewayFacts } from "@kule/rules/gateways/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { lockNetwork, type NetworkRow } from "../networks/index.ts";
import { factsOf } from "./facts.ts";
import { findGateway, type GatewayDetails, lockGatewayOf } from "./store.ts";

export type LockedGateway = {
  readonly network: NetworkRow;
  readonly gateway: GatewayDetails;
  readonly facts: GatewayFacts;
};

/**
 * The gateway with its network, under their locks: only the holder of the network's changes its gateway, its
 * subnets, and what is served and forwarded.
 *
 * @throws NotFound when it was deleted
 */
export async function lockGateway(
  request: ApiRequest,
  tx: Tx,
  found: Pick<GatewayDetails, "id" | "network_id">,
): Promise<LockedGateway> {
  const { organisationId } = request;
  const network = await lockNetwork(tx, organisationId, found.network_id);
  const locked = await lockGatewayOf(tx, organisationId, found.network_id);
  const gateway = locked?.id === found.id ? await findGateway(tx, organisationId, found.id) : null;
  if (network === null || gateway === null) throw new NotFound();
  request.checkGeneration(gateway);
  return { network, gateway, facts: await factsOf(tx, gateway) };
}
