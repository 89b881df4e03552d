import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideLeaveSubnet, decideServeSubnet, type ServableSubnet } from "@kule/rules/gateways/lifecycle";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { findSubnet } from "../networks/index.ts";
import { answerWithEdgeJob, nextGeneration } from "./answer.ts";
import { lockGateway } from "./lock.ts";
import { changeGatewayRow, type GatewayDetails, type GatewayRow } from "./store.ts";

const noSuchSubnet = () => fieldError("/subnet_id", "not_found", "no such subnet in the gateway's network");

export async function checkAttachGatewaySubnet(
  { db, organisationId }: ApiRequest<"attachGatewaySubnet">,
  { subnet_id }: Partial<RequestBody<"attachGatewaySubnet">>,
  { network_id }: GatewayDetails,
): Promise<FieldError[]> {
  if (subnet_id === undefined) return [];
  const subnet = isId("sub", subnet_id) ? await findSubnet(db, organisationId, subnet_id, network_id) : null;
  return subnet === null ? [noSuchSubnet()] : [];
}

export async function attachGatewaySubnet(
  request: ApiRequest<"attachGatewaySubnet">,
  tx: Tx,
  found: GatewayDetails,
): Promise<Outcome> {
  const { network, gateway, facts } = await lockGateway(request, tx, found);
  const subnet = facts.subnets.find(({ id }) => id === request.body.subnet_id);
  // It may have been deleted since it was read.
  if (subnet === undefined) throw new Invalid([noSuchSubnet()]);
  const [refusal] = decideServeSubnet(facts, subnet);
  if (refusal !== undefined) throw new Conflict(refusal);
  await serve(tx, gateway, subnet.id, nextGeneration(network));
  await changeGatewayRow(tx, gateway, {}, nextGeneration(network));
  return answerWithEdgeJob(request, tx, gateway);
}

/** A gateway with a subnet of its network. */
export type SubnetOfGateway = { readonly gateway: GatewayDetails; readonly subnetId: string };

export async function detachGatewaySubnet(
  request: ApiRequest<"detachGatewaySubnet">,
  tx: Tx,
  found: SubnetOfGateway,
): Promise<Outcome> {
  const { network, gateway, facts } = await lockGateway(request, tx, found.gateway);
  const subnet: ServableSubnet | undefined = facts.subnets.find(({ id }) => id === found.subnetId);
  if (subnet === undefined) throw new NotFound();
  const [refusal] = decideLeaveSubnet(facts, subnet);
  if (refusal !== undefined) throw new Conflict(refusal);
  await leave(tx, gateway, [subnet.id], nextGeneration(network));
  await changeGatewayRow(tx, gateway, {}, nextGeneration(network));
  return answerWithEdgeJob(request, tx, gateway);
}

/**
 * Records that the gateway serves the subnet from the network's generation on. The tier is written too, so
 * that the database refuses what no rule has refused; a subnet that the edge has not removed yet keeps its
 * row.
 */
export async function serve(
  tx: Tx,
  { organisation_id, id, network_id }: Pick<GatewayRow, "organisation_id" | "id" | "network_id">,
  subnetId: string,
  generation: number,
): Promise<void> {
  await sql`
    insert into gateway_subnet (subnet_id, organisation_id, network_id, gateway_id, tier, wanted_generation)
    select subnet.id, subnet.organisation_id, subnet.network_id, ${id}, subnet.tier, ${generation}
      from subnet
     where subnet.organisation_id = ${organisation_id} and subnet.network_id = ${network_id} and subnet.id = ${subnetId}
    on conflict (subnet_id) do update set wanted_generation = excluded.wanted_generation, left_generation = null
     where gateway_subnet.organisation_id = ${organisation_id}`.execute(tx);
}

/** They are served until the edge has the network's generation. */
export async function leave(
  tx: Tx,
  { organisation_id, id }: Pick<GatewayRow, "organisation_id" | "id">,
  subnetIds: readonly string[],
  generation: number,
): Promise<void> {
  if (subnetIds.length === 0) return;
  await tx
    .updateTable("gateway_subnet")
    .set({ left_generation: generation })
    .where("organisation_id", "=", organisation_id)
    .where("gateway_id", "=", id)
    .where("subnet_id", "in", subnetIds)
    .execute();
}
