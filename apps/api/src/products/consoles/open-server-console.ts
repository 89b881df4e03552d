import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { osFamilyOf } from "@kule/rules/catalog/images";
import { consoleFeatures, consoleLimits, defaultConsole, planSession } from "@kule/rules/consoles/console";
import { regionStatus } from "@kule/rules/regions/status";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, NotFound, RegionSilent } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { consoleFactsOf, refuseConflicts, type ServerDetails } from "../servers/index.ts";
import { liveSessions, lockSessions, requestEnd } from "./store.ts";
import { mintTicket, protocolOf } from "./ticket.ts";

/** Windows writes nothing to its serial line: a console opened with a ticket for it would stay empty. */
export function checkOpenServerConsole(
  _request: ApiRequest<"openServerConsole">,
  { type }: Partial<RequestBody<"openServerConsole">>,
  { image }: ServerDetails,
): FieldError[] {
  if (type !== "serial" || osFamilyOf(image) !== "windows") return [];
  return [fieldError("/type", "not_one_of", "must be vnc: a Windows server has no serial console")];
}

/** Issues a ticket. Nothing is opened in the region before the ticket is presented. */
export async function openServerConsole(
  request: ApiRequest<"openServerConsole">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  const { body, caller, deps, organisationId } = request;
  const type = body.type ?? defaultConsole(osFamilyOf(found.image));
  await lockSessions(tx, organisationId);
  const server = await tx
    .selectFrom("server")
    .select(["id", "status", "power_state", "locked_reason", "region"])
    .select(["managed_by_type", "managed_by_id", "managed_by_name"])
    .where("organisation_id", "=", organisationId)
    .where("id", "=", found.id)
    .forShare()
    .executeTakeFirst();
  if (server === undefined || server.status === "deleted") throw new NotFound();
  const wanted = { type, subject: caller.subject, takeOver: body.take_over === true };
  const { ended, refusals } = planSession(
    wanted,
    consoleFactsOf(server),
    await liveSessions(tx, organisationId),
  );
  refuseConflicts(refusals, server.status);
  await refuseSilentRegion(tx, server.region);
  await requestEnd(tx, organisationId, ended, "taken_over");

  const id = newId("con");
  const { ticket, hash } = mintTicket();
  const { ticket_expires_at } = await tx
    .insertInto("console_session")
    .values({
      id,
      organisation_id: organisationId,
      region: server.region,
      server_id: server.id,
      type,
      token_id: caller.tokenId,
      token_kind: caller.kind,
      subject: caller.subject,
      actor: JSON.stringify(caller.actor),
      on_behalf: caller.isOperator,
      request_id: request.id,
      source_address: request.sourceAddress,
      ticket_hash: hash,
      ticket_expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${consoleLimits.ticketSeconds})`,
    })
    .returning("ticket_expires_at")
    .executeTakeFirstOrThrow();
  return {
    reply: reply(201, {
      session_id: id,
      type,
      url: `${deps.settings.publicUrl.replace(/^http/, "ws")}/servers/${server.id}/console/${id}`,
      protocol: protocolOf(type),
      ticket,
      expires_at: ticket_expires_at.toISOString(),
      idle_seconds: deps.settings.consoleIdleSeconds,
      length_seconds: deps.settings.consoleLengthSeconds,
      features: consoleFeatures(type),
    }),
    resource: server.id,
    details: { session: id, type, ...(ended.length === 0 ? {} : { ended: [...ended] }) },
    secretFields: ["ticket"],
  };
}

/** No agent would open the other side. A region that never reported has no running server either. */
async function refuseSilentRegion(tx: Tx, slug: string): Promise<void> {
  const region = await tx
    .selectFrom("region")
    .select([
      "health_ok",
      sql<number | null>`extract(epoch from clock_timestamp() - health_at)::float8`.as("age"),
    ])
    .where("slug", "=", slug)
    .executeTakeFirstOrThrow();
  if (region.age === null) return;
  const status = regionStatus({
    maintenance: false,
    reportAgeSeconds: region.age,
    reportOk: region.health_ok === true,
  });
  if (status === "unreachable") throw new RegionSilent(slug);
}
