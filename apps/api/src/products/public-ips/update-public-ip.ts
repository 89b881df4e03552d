import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import { requirePermissions } from "../../platform/authorise.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { findPublicIp, lockPublicIp, type PublicIpDetails, updatePublicIpRow } from "./store.ts";
import { viewPublicIp } from "./view.ts";

export function checkUpdatePublicIp(
  request: ApiRequest<"updatePublicIp">,
  body: Partial<RequestBody<"updatePublicIp">>,
  found: PublicIpDetails,
): FieldError[] {
  requireUnprotect(request, found, body);
  return labelErrors(found.labels, body.labels);
}

/** Changes only the database: the region is not affected. */
export async function updatePublicIp(
  request: ApiRequest<"updatePublicIp">,
  tx: Tx,
  found: PublicIpDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const ip = await lockPublicIp(tx, organisationId, found.id);
  if (ip === null) throw new NotFound();
  requireUnprotect(request, ip, body);
  const labels = body.labels === undefined ? {} : { labels: changedLabels(ip.labels, body.labels) };
  request.checkGeneration(ip);
  await updatePublicIpRow(tx, organisationId, ip.id, {
    ...labels,
    ...(body.ptr === undefined ? {} : { ptr: body.ptr }),
    ...(body.delete_with_server === undefined ? {} : { delete_with_server: body.delete_with_server }),
    ...(body.protection === undefined ? {} : { protect_delete: body.protection.delete }),
  });
  const updated = await findPublicIp(tx, organisationId, ip.id);
  if (updated === null) throw new Error("a public IP that was just changed could not be found");
  return { reply: reply(200, viewPublicIp(updated)), resource: ip.id };
}

/** @throws Forbidden when a caller without the permission would remove protection: see updateServer */
function requireUnprotect(
  request: ApiRequest,
  ip: PublicIpDetails,
  { protection }: Partial<RequestBody<"updatePublicIp">>,
): void {
  if (ip.protect_delete && protection?.delete === false) requirePermissions(request, ["public_ip:unprotect"]);
}
