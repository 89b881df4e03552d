import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { answered } from "./answer.ts";
import { firewallNameTaken } from "./conflicts.ts";
import { changeFirewallRow, type FirewallDetails, lockFirewall } from "./store.ts";

export function checkUpdateFirewall(
  _request: ApiRequest<"updateFirewall">,
  body: Partial<RequestBody<"updateFirewall">>,
  found: FirewallDetails,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

/** No server depends on its name and labels. */
export async function updateFirewall(
  request: ApiRequest<"updateFirewall">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const firewall = await lockFirewall(tx, organisationId, found.id);
  if (firewall === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(firewall.labels, body.labels) };
  request.checkGeneration(firewall);
  await changeFirewallRow(tx, firewall, {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...labels,
  }).catch((error: unknown) => {
    throw violatedConstraint(error) === "firewall_name"
      ? firewallNameTaken(body.name ?? "", firewall.region)
      : error;
  });
  return answered(request, tx, firewall.id, []);
}
