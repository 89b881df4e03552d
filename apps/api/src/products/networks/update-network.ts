import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { networkDeleting, networkNameTaken } from "./conflicts.ts";
import { findNetworkDetails, lockNetwork, type NetworkRow, updateNetworkRow } from "./store.ts";
import { viewNetwork } from "./view.ts";

export function checkUpdateNetwork(
  _request: ApiRequest<"updateNetwork">,
  body: Partial<RequestBody<"updateNetwork">>,
  found: NetworkRow,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

export async function updateNetwork(
  request: ApiRequest<"updateNetwork">,
  tx: Tx,
  found: NetworkRow,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const network = await lockNetwork(tx, organisationId, found.id);
  if (network === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(network.labels, body.labels) };
  request.checkGeneration(network);
  if (network.status === "deleting") throw networkDeleting(network.id);
  await updateNetworkRow(tx, organisationId, network.id, {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...labels,
  }).catch((error: unknown) => {
    throw violatedConstraint(error) === null ? error : networkNameTaken(body.name ?? "", network.region);
  });
  const row = await findNetworkDetails(tx, organisationId, network.id);
  if (row === null) throw new Error("a network that was just changed could not be found");
  return {
    reply: reply(200, { network: viewNetwork(row), job: null }, { ETag: `"g${row.generation}"` }),
    resource: row.id,
  };
}
