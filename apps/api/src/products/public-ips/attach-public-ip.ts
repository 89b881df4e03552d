import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideAttach } from "@kule/rules/public-ips/lifecycle";
import { alreadyAttached } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { blocked, findServer, lockServers, passWaitingRules } from "../servers/index.ts";
import { moved, queuePublicIpJob } from "./jobs.ts";
import { findTarget, tierRefusal } from "./placement.ts";
import { factsOf, lockPublicIp, type PublicIpDetails } from "./store.ts";

const noSuchServer = () => fieldError("/server_id", "not_found", "no such server");

export async function checkAttachPublicIp(
  request: ApiRequest<"attachPublicIp">,
  { server_id: serverId }: Partial<RequestBody<"attachPublicIp">>,
): Promise<FieldError[]> {
  if (serverId === undefined) return [];
  const server = isId("srv", serverId)
    ? await findServer(request.db, request.organisationId, serverId)
    : null;
  return server === null ? [noSuchServer()] : [];
}

/**
 * Attaches the address to the server. One that is attached to another server is moved: this transaction
 * assigns it to the new one, and a job removes it from the old one's VM; the job for the new one's VM waits
 * for the end of that job.
 */
export async function attachPublicIp(
  request: ApiRequest<"attachPublicIp">,
  tx: Tx,
  found: PublicIpDetails,
): Promise<Outcome> {
  const { organisationId, body } = request;
  await lockServers(tx, organisationId, [body.server_id, found.server_id, found.held_by]);
  const ip = await lockPublicIp(tx, organisationId, found.id);
  if (ip === null) throw new NotFound();
  const target = await findTarget(tx, organisationId, body.server_id);
  if (target === null) throw new Invalid([noSuchServer()]);
  request.checkGeneration(ip);
  const refusals = [
    ...[await tierRefusal(tx, organisationId, target.id)].flatMap((each) => each ?? []),
    ...decideAttach(factsOf(ip), target, body.force === true),
    // It was moved between our check and our locks: the server that has it now is not locked.
    ...movedMeanwhile(found, ip),
  ];
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  const [refusal] = refusals;
  if (refusal !== undefined) throw new Conflict(refusal, target.status);

  const leaves = ip.held_by !== null && ip.held_by !== target.id ? ip.held_by : null;
  await tx
    .updateTable("public_ip")
    .set({
      server_id: target.id,
      held_by: leaves ?? target.id,
      is_applied: false,
      requires_reboot: false,
      reboot_since: null,
      status_code: null,
      status_message: null,
      status_job_id: null,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", ip.id)
    .execute();
  for (const id of leaves === null ? [target.id] : [leaves, target.id])
    await passWaitingRules(tx, organisationId, id);
  const by = { requestedBy: request.caller.actor, requestId: request.id };
  if (leaves !== null)
    await queuePublicIpJob(tx, "PublicIpDetach", { organisationId, region: ip.region, serverId: leaves, by });
  const job = await queuePublicIpJob(tx, "PublicIpAttach", {
    organisationId,
    region: ip.region,
    serverId: target.id,
    by,
    waits: leaves !== null,
  });
  return moved(request, tx, ip.id, target.id, job);
}

function movedMeanwhile(found: PublicIpDetails, ip: PublicIpDetails) {
  if (found.server_id === ip.server_id && found.held_by === ip.held_by) return [];
  return [
    alreadyAttached("public_ip_free", "The address is being attached elsewhere at this moment", {
      resource: ip.holder_id,
      fix: "Look at it again",
    }),
  ];
}
