import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { loadBalancerNameTaken } from "@kule/rules/load-balancers/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { renameOwnerOfServers } from "../servers/index.ts";
import { answered, answeredWithApply, lockForChange } from "./answers.ts";
import { nameErrors } from "./place.ts";
import { changeInForce, type LoadBalancerDetails } from "./store.ts";

export function checkUpdateLoadBalancer(
  _request: ApiRequest<"updateLoadBalancer">,
  body: Partial<RequestBody<"updateLoadBalancer">>,
  found: LoadBalancerDetails,
): FieldError[] {
  return [...nameErrors(body.name), ...labelErrors(found.labels, body.labels)];
}

/** Its machines do not depend on its name and labels, and their servers keep their names. */
export async function updateLoadBalancer(
  request: ApiRequest<"updateLoadBalancer">,
  tx: Tx,
  found: LoadBalancerDetails,
): Promise<Outcome> {
  const { body } = request;
  const row = await lockForChange(request, tx, found);
  const { name, description, labels, algorithm } = body;
  if (name !== undefined || description !== undefined || labels !== undefined)
    await changeInForce(tx, row, {
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(labels === undefined ? {} : { labels: changedLabels(row.labels, labels) }),
    }).catch((error: unknown) => {
      throw violatedConstraint(error) === "load_balancer_name"
        ? new Conflict(loadBalancerNameTaken(name ?? "", row.region))
        : error;
    });
  if (name !== undefined && name !== row.name)
    await renameOwnerOfServers(tx, row.organisation_id, { type: "load_balancer", id: row.id, name });
  if (algorithm === undefined || algorithm === row.algorithm)
    return answered(request, tx, row, { job: null, status: 200 });
  await tx
    .updateTable("load_balancer")
    .set({ algorithm })
    .where("organisation_id", "=", row.organisation_id)
    .where("id", "=", row.id)
    .execute();
  return answeredWithApply(request, tx, row);
}
