import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { serverManaged } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedReference } from "../../platform/database-errors.ts";
import { Conflict, fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { ownerOfRow } from "../../platform/server-owner.ts";
import { findSubnet } from "../networks/index.ts";
import { findServer } from "../servers/index.ts";
import { answerWithServerJobs } from "./answer.ts";
import { selectorErrors } from "./check-rules.ts";
import { firewallAttached } from "./conflicts.ts";
import { lockFiltered } from "./refresh.ts";
import { changeFirewallRow, type FirewallDetails, lockFirewall } from "./store.ts";

type Body = RequestBody<"attachFirewall">;

export function checkAttachFirewall(
  request: ApiRequest<"attachFirewall">,
  body: Partial<Body>,
  { region }: FirewallDetails,
): Promise<FieldError[]> {
  return targetErrors(request, request.db, body, region);
}

async function targetErrors(
  { organisationId }: ApiRequest,
  db: ApiRequest["db"] | Tx,
  { server_id, subnet_id, label_selector }: Partial<Body>,
  region: string,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  if (label_selector !== undefined) errors.push(...selectorErrors("/label_selector", label_selector));
  if (server_id !== undefined) {
    const server = isId("srv", server_id) ? await findServer(db, organisationId, server_id) : null;
    if (server?.region !== region)
      errors.push(fieldError("/server_id", "not_found", "no such server in the firewall's region"));
  }
  if (subnet_id !== undefined) {
    const subnet = isId("sub", subnet_id) ? await findSubnet(db, organisationId, subnet_id) : null;
    if (subnet?.region !== region || subnet.status === "deleting")
      errors.push(fieldError("/subnet_id", "not_found", "no such subnet in the firewall's region"));
  }
  return errors;
}

export async function attachFirewall(
  request: ApiRequest<"attachFirewall">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const firewall = await lockFirewall(tx, organisationId, found.id);
  if (firewall === null) throw new NotFound();
  // What it is to be attached to may have been deleted since it was read.
  const gone = await targetErrors(request, tx, body, firewall.region);
  if (gone.length > 0) throw new Invalid(gone);
  request.checkGeneration(firewall);
  const { server_id = null, subnet_id = null, label_selector = null } = body;
  await refuseManaged(tx, organisationId, server_id);
  const twin = firewall.attachments.find(
    (each) =>
      each.server_id === server_id && each.subnet_id === subnet_id && each.label_selector === label_selector,
  );
  if (twin !== undefined) throw firewallAttached(firewall.id, twin.id);
  await lockFiltered(tx, organisationId, firewall.region);
  await tx
    .insertInto("firewall_attachment")
    .values({
      id: newId("fwa"),
      organisation_id: organisationId,
      region: firewall.region,
      firewall_id: firewall.id,
      server_id,
      subnet_id,
      label_selector,
    })
    .execute()
    .catch((error: unknown) => {
      // The servers are locked, and a subnet is not.
      throw violatedReference(error)?.startsWith("firewall_attachment") === true
        ? new Invalid([fieldError("/subnet_id", "not_found", "no such subnet in the firewall's region")])
        : error;
    });
  await changeFirewallRow(tx, firewall);
  return answerWithServerJobs(request, tx, firewall);
}

/**
 * What is attached to a managed server itself is its owner's.
 *
 * @throws Conflict `managed`
 */
async function refuseManaged(tx: Tx, organisationId: string, serverId: string | null): Promise<void> {
  const server = serverId === null ? null : await findServer(tx, organisationId, serverId);
  const owner = server === null ? null : ownerOfRow(server);
  if (owner !== null) throw new Conflict(serverManaged(owner));
}

/** A firewall with one of its attachments. */
export type AttachmentOfFirewall = { readonly firewall: FirewallDetails; readonly attachmentId: string };

export async function detachFirewall(
  request: ApiRequest<"detachFirewall">,
  tx: Tx,
  { firewall: found, attachmentId }: AttachmentOfFirewall,
): Promise<Outcome> {
  const { organisationId } = request;
  const firewall = await lockFirewall(tx, organisationId, found.id);
  const attachment = firewall?.attachments.find(({ id }) => id === attachmentId);
  if (firewall === null || attachment === undefined) throw new NotFound();
  request.checkGeneration(firewall);
  await refuseManaged(tx, organisationId, attachment.server_id);
  await tx
    .deleteFrom("firewall_attachment")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", attachmentId)
    .execute();
  await changeFirewallRow(tx, firewall);
  return answerWithServerJobs(request, tx, firewall);
}
