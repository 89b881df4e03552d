import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { subnetDeleting, subnetNameTaken } from "./conflicts.ts";
import { type FoundSubnet, findSubnetDetails, lockSubnet, updateSubnetRow } from "./subnet-store.ts";
import { viewSubnet } from "./view.ts";

export function checkUpdateSubnet(
  _request: ApiRequest<"updateSubnet">,
  body: Partial<RequestBody<"updateSubnet">>,
  found: FoundSubnet,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

/** Name servers reach the servers that are created from now on. */
export async function updateSubnet(
  request: ApiRequest<"updateSubnet">,
  tx: Tx,
  found: FoundSubnet,
): Promise<Outcome> {
  const { body, organisationId, caller } = request;
  const subnet = await lockSubnet(tx, organisationId, found.id);
  if (subnet === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(subnet.labels, body.labels) };
  request.checkGeneration(subnet);
  if (subnet.status === "deleting") throw subnetDeleting(subnet.id);
  await updateSubnetRow(tx, organisationId, subnet.id, {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.dns_servers === undefined ? {} : { dns_servers: body.dns_servers }),
    ...labels,
  }).catch((error: unknown) => {
    throw violatedConstraint(error) === "subnet_name" ? subnetNameTaken(body.name ?? "") : error;
  });
  const row = await findSubnetDetails(tx, organisationId, subnet.id);
  if (row === null) throw new Error("a subnet that was just changed could not be found");
  return {
    reply: reply(
      200,
      { subnet: viewSubnet(row, caller.isOperator), job: null },
      { ETag: `"g${row.generation}"` },
    ),
    resource: row.id,
  };
}
