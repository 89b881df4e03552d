import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { requireProofOfSession } from "../account/index.ts";
import { requireAgents } from "./create-agent-token.ts";
import { beginEnrolment } from "./enrolment-store.ts";
import type { RegionDetails } from "./store.ts";

/** A code that gives one agent a token of the region: nobody has to copy the token itself. */
export async function createEnrolment(
  request: ApiRequest<"createEnrolment">,
  tx: Tx,
  region: RegionDetails,
): Promise<Outcome> {
  requireAgents(region);
  await requireProofOfSession(request, tx);
  const { settings } = request.deps;
  const { id, secret, expiresAt } = await beginEnrolment(tx, region.slug, request.caller.actor.id);
  const pin = settings.publicAuthority === null ? "" : `.${settings.publicAuthority.sha256}`;
  return {
    reply: reply(201, {
      region: region.slug,
      api_url: settings.publicUrl,
      expires_at: expiresAt.toISOString(),
      code: `${secret}${pin}`,
    }),
    resource: region.slug,
    details: { enrolment: id },
    secretFields: ["code"],
  };
}
