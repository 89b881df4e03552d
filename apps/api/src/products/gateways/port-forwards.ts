import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideDropForward, decideForward, type GatewayFacts } from "@kule/rules/gateways/lifecycle";
import { serverManaged } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { ownerOfRow } from "../../platform/server-owner.ts";
import { findServer, lockServer } from "../servers/index.ts";
import { answerWithEdgeJob, nextGeneration } from "./answer.ts";
import { tooManyPortForwards } from "./conflicts.ts";
import { findPortForward, leavePortForwards, type PortForwardRow } from "./forward-store.ts";
import { lockGateway } from "./lock.ts";
import { changeGatewayRow, type GatewayDetails } from "./store.ts";

const noSuchServer = () => fieldError("/server_id", "not_found", "no such server in the gateway's region");

export async function checkCreatePortForward(
  { db, organisationId }: ApiRequest<"createPortForward">,
  { server_id }: Partial<RequestBody<"createPortForward">>,
  { region }: GatewayDetails,
): Promise<FieldError[]> {
  if (server_id === undefined) return [];
  const server = isId("srv", server_id) ? await findServer(db, organisationId, server_id) : null;
  return server?.region === region ? [] : [noSuchServer()];
}

/** Each is a rule that every packet to the gateway's address may meet. */
const maxPortForwards = 100;

export async function createPortForward(
  request: ApiRequest<"createPortForward">,
  tx: Tx,
  found: GatewayDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  // Before the network, as the end of its jobs has them: it must not be destroyed while its address is being written down.
  const server = await lockServer(tx, organisationId, body.server_id);
  if (server === null || server.deleted_at !== null || server.region !== found.region)
    throw new Invalid([noSuchServer()]);
  const { network, gateway, facts } = await lockGateway(request, tx, found);
  const home = await homeIn(tx, facts, server.id, gateway);
  const wanted = {
    protocol: body.protocol,
    listenPort: body.listen_port,
    targetAddress: home?.address ?? null,
    server: {
      id: server.id,
      isLeaving: server.status === "pending_deletion" || server.status === "deleting",
    },
  };
  const owner = ownerOfRow(server);
  if (owner !== null) throw new Conflict(serverManaged(owner));
  const [refusal] = decideForward(facts, wanted);
  if (refusal !== undefined) throw new Conflict(refusal);
  if (home === null) throw new Error("a port is forwarded to nowhere");
  if (facts.forwards.length >= maxPortForwards) throw tooManyPortForwards(gateway.id, maxPortForwards);
  const id = newId("pf");
  await tx
    .insertInto("port_forward")
    .values({
      id,
      organisation_id: organisationId,
      region: gateway.region,
      gateway_id: gateway.id,
      subnet_id: home.subnet_id,
      server_id: server.id,
      target_address: home.address,
      protocol: body.protocol,
      listen_port: body.listen_port,
      target_port: body.target_port ?? body.listen_port,
      description: body.description ?? "",
      wanted_generation: nextGeneration(network),
    })
    .execute();
  await changeGatewayRow(tx, gateway, {}, nextGeneration(network));
  return answerWithEdgeJob(request, tx, gateway, { forward: await written(tx, gateway, id) });
}

/** Where the server is in the gateway's network: by a subnet that is served, when there is one. */
async function homeIn(
  tx: Tx,
  { servedIds }: GatewayFacts,
  serverId: string,
  { organisation_id, network_id }: GatewayDetails,
): Promise<{ subnet_id: string; address: string } | null> {
  const rows = await tx
    .selectFrom("nic")
    .innerJoin("subnet", (join) =>
      join
        .onRef("subnet.organisation_id", "=", "nic.organisation_id")
        .onRef("subnet.id", "=", "nic.subnet_id"),
    )
    .innerJoin("address", (join) =>
      join
        .onRef("address.organisation_id", "=", "nic.organisation_id")
        .onRef("address.nic_id", "=", "nic.id"),
    )
    .select(["nic.subnet_id", sql<string>`host(address.address)`.as("address")])
    .where("nic.organisation_id", "=", organisation_id)
    .where("nic.server_id", "=", serverId)
    .where("subnet.network_id", "=", network_id)
    .orderBy("nic.position")
    .execute();
  return rows.find(({ subnet_id }) => servedIds.includes(subnet_id)) ?? rows[0] ?? null;
}

async function written(tx: Tx, gateway: GatewayDetails, id: string): Promise<PortForwardRow> {
  const row = await findPortForward(tx, gateway.organisation_id, gateway.id, id);
  if (row === null) throw new Error("a port forward that was just written could not be found");
  return row;
}

/** A gateway with one of its port forwards. */
export type ForwardOfGateway = { readonly gateway: GatewayDetails; readonly forward: PortForwardRow };

export async function deletePortForward(
  request: ApiRequest<"deletePortForward">,
  tx: Tx,
  found: ForwardOfGateway,
): Promise<Outcome> {
  const { network, gateway, facts } = await lockGateway(request, tx, found.gateway);
  const forward = await findPortForward(tx, gateway.organisation_id, gateway.id, found.forward.id);
  if (forward === null) throw new NotFound();
  const [refusal] = decideDropForward(facts, {
    id: forward.id,
    isLeaving: forward.left_generation !== null,
  });
  if (refusal !== undefined) throw new Conflict(refusal);
  await leavePortForwards(tx, gateway.organisation_id, [forward.id], nextGeneration(network));
  await changeGatewayRow(tx, gateway, {}, nextGeneration(network));
  return answerWithEdgeJob(request, tx, gateway, { forward: await written(tx, gateway, forward.id) });
}
