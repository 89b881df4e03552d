import { decideDeleteGateway } from "@kule/rules/gateways/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { answerWithEdgeJob, nextGeneration } from "./answer.ts";
import { lockGateway } from "./lock.ts";
import { changeGatewayRow, type GatewayDetails } from "./store.ts";
import { leave } from "./subnets.ts";

/** The gateway is gone, and its address in quarantine, when the edge has removed it: see settle.ts. */
export async function deleteGateway(
  request: ApiRequest<"deleteGateway">,
  tx: Tx,
  found: GatewayDetails,
): Promise<Outcome> {
  const { network, gateway, facts } = await lockGateway(request, tx, found);
  const [refusal] = decideDeleteGateway(facts);
  if (refusal !== undefined) throw new Conflict(refusal);
  const generation = nextGeneration(network);
  await leave(tx, gateway, facts.servedIds, generation);
  await changeGatewayRow(tx, gateway, { is_deleting: true }, generation);
  return answerWithEdgeJob(request, tx, gateway);
}
