import { decideDetach } from "@kule/rules/public-ips/lifecycle";
import { invalidState } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { blocked, lockServers, passWaitingRules } from "../servers/index.ts";
import { moved, queuePublicIpJob } from "./jobs.ts";
import { factsOf, lockPublicIp, type PublicIpDetails } from "./store.ts";

/** Detaches the address from its server. The organisation keeps it. */
export async function detachPublicIp(
  request: ApiRequest<"detachPublicIp">,
  tx: Tx,
  found: PublicIpDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  await lockServers(tx, organisationId, [found.server_id, found.held_by]);
  const ip = await lockPublicIp(tx, organisationId, found.id);
  if (ip === null) throw new NotFound();
  request.checkGeneration(ip);
  const from = ip.held_by;
  const refusals = [...decideDetach(factsOf(ip)), ...movedMeanwhile(found, ip)];
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  const [refusal] = refusals;
  if (refusal !== undefined) throw new Conflict(refusal, ip.holder_status ?? undefined);
  if (from === null) throw new Error(`${ip.id} is on no server and may be taken off it`);
  await tx
    .updateTable("public_ip")
    .set({
      server_id: null,
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
  await passWaitingRules(tx, organisationId, from);
  const job = await queuePublicIpJob(tx, "PublicIpDetach", {
    organisationId,
    region: ip.region,
    serverId: from,
    by: { requestedBy: request.caller.actor, requestId: request.id },
  });
  return moved(request, tx, ip.id, from, job);
}

/** It was moved between our check and our locks. */
function movedMeanwhile(found: PublicIpDetails, ip: PublicIpDetails) {
  if (ip.held_by === found.held_by || ip.held_by === found.server_id) return [];
  return [
    invalidState("public_ip_attached", "The address is being moved at this moment", {
      resource: ip.holder_id,
      fix: "Look at it again",
    }),
  ];
}
