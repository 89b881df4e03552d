import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideUpdateGateway } from "@kule/rules/gateways/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { changedOnly } from "./answer.ts";
import { gatewayNameTaken } from "./conflicts.ts";
import { lockGateway } from "./lock.ts";
import { changeGatewayRow, type GatewayDetails } from "./store.ts";

export function checkUpdateGateway(
  _request: ApiRequest<"updateGateway">,
  body: Partial<RequestBody<"updateGateway">>,
  found: GatewayDetails,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

/** The edge does not depend on its name and labels. */
export async function updateGateway(
  request: ApiRequest<"updateGateway">,
  tx: Tx,
  found: GatewayDetails,
): Promise<Outcome> {
  const { body } = request;
  const { gateway, facts } = await lockGateway(request, tx, found);
  const labels = body.labels === undefined ? {} : { labels: changedLabels(gateway.labels, body.labels) };
  const [refusal] = decideUpdateGateway(facts);
  if (refusal !== undefined) throw new Conflict(refusal);
  const changes = {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...labels,
  };
  await changeGatewayRow(tx, gateway, changes, null).catch((error: unknown) => {
    throw violatedConstraint(error) === "gateway_name"
      ? gatewayNameTaken(body.name ?? "", gateway.region)
      : error;
  });
  return changedOnly(tx, gateway);
}
