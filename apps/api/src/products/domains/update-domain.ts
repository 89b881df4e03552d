import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import { requirePermissions } from "../../platform/authorise.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { refuseWhileDeleting } from "./record-refusals.ts";
import { changeDomainRow, type DomainDetails, lockDomain, writtenDomain } from "./store.ts";
import { viewDomain } from "./view.ts";

export function checkUpdateDomain(
  _request: ApiRequest<"updateDomain">,
  body: Partial<RequestBody<"updateDomain">>,
  found: DomainDetails,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

export async function updateDomain(
  request: ApiRequest<"updateDomain">,
  tx: Tx,
  found: DomainDetails,
): Promise<Outcome> {
  const { body } = request;
  const domain = await lockDomain(tx, found.organisation_id, found.id);
  if (domain === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(domain.labels, body.labels) };
  request.checkGeneration(domain);
  if (domain.protect_delete && body.protection?.delete === false)
    requirePermissions(request, ["domain:unprotect"]);
  refuseWhileDeleting(domain);
  await changeDomainRow(tx, domain.organisation_id, domain.id, {
    ...(body.ttl === undefined ? {} : { default_ttl_seconds: body.ttl }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...(body.protection === undefined ? {} : { protect_delete: body.protection.delete }),
    ...labels,
  });
  const row = await writtenDomain(tx, domain.organisation_id, domain.id);
  return { reply: reply(200, viewDomain(row)), resource: row.id };
}
