import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { askedBy, type Requester, requestNetworkApply } from "../networks/index.ts";
import type { PortForwardRow } from "./forward-store.ts";
import { findGateway, type GatewayRow } from "./store.ts";
import { viewGateway, viewPortForward } from "./view.ts";

/** The network's generation that its next apply has: what this transaction writes is in it. */
export const nextGeneration = (network: { readonly generation: number }): number => network.generation + 1;

/**
 * Queues a job that applies the changed network to the edge. One was queued when the gateway was created, so
 * there is always a job.
 */
export async function queueEdgeJob(
  tx: Tx,
  { organisation_id, network_id }: Pick<GatewayRow, "organisation_id" | "network_id">,
  by: Requester,
): Promise<JobRow> {
  const job = await requestNetworkApply(tx, organisation_id, network_id, by);
  if (job === null) throw new Error(`network ${network_id} has a gateway, and no edge is told of it`);
  return job;
}

async function writtenGateway(tx: Tx, { organisation_id, id }: Ids): Promise<Schemas["Gateway"]> {
  const row = await findGateway(tx, organisation_id, id);
  if (row === null) throw new Error("a gateway that was just written could not be found");
  return viewGateway(row);
}

type Ids = Pick<GatewayRow, "organisation_id" | "id" | "network_id">;

/**
 * Queues the job for the edge, and answers with the job and, when the change is about one, the port forward.
 */
export async function answerWithEdgeJob(
  request: ApiRequest,
  tx: Tx,
  gateway: Ids,
  more: { readonly forward?: PortForwardRow; readonly isNew?: true } = {},
): Promise<Outcome> {
  const job = await queueEdgeJob(tx, gateway, askedBy(request));
  const written = {
    gateway: await writtenGateway(tx, gateway),
    job: await viewWrittenJob(tx, job, request.caller),
  };
  const { forward } = more;
  const body: Schemas["GatewayAndJob"] | Schemas["PortForwardAndJob"] =
    forward === undefined ? written : { port_forward: viewPortForward(forward), ...written };
  const location = more.isNew ? { Location: `/api/v1/gateways/${gateway.id}` } : {};
  return {
    reply: reply(202, body, {
      ...location,
      ETag: `"g${written.gateway.generation}"`,
      Link: `</api/v1/jobs/${job.id}>; rel="monitor"`,
    }),
    resource: forward?.id ?? gateway.id,
    details: { gateway: gateway.id, job: job.id, address: written.gateway.public_ip.address },
  };
}

/** The answer to what is no business of the edge's. */
export async function changedOnly(tx: Tx, gateway: Ids): Promise<Outcome> {
  const body: Schemas["GatewayAndJob"] = { gateway: await writtenGateway(tx, gateway), job: null };
  return {
    reply: reply(200, body, { ETag: `"g${body.gateway.generation}"` }),
    resource: gateway.id,
  };
}
