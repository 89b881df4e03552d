import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { requireProofOfSession } from "../account/index.ts";
import { issueToken, viewToken } from "../tokens/index.ts";
import type { RegionDetails } from "./store.ts";

/** Has no expiry: a forgotten agent must not take its region down. Rotate or revoke it. */
export async function createAgentToken(
  request: ApiRequest<"createAgentToken">,
  tx: Tx,
  region: RegionDetails,
): Promise<Outcome> {
  requireAgents(region);
  const { body, caller } = request;
  await requireProofOfSession(request, tx);
  const { row, secret } = await issueToken(tx, {
    kind: "agent",
    name: body.name,
    region: region.slug,
    lifetimeSeconds: null,
    createdBy: caller.actor.id,
  });
  return {
    reply: reply(201, { token: viewToken(row), secret }),
    resource: row.id,
    details: { region: region.slug },
    secretFields: ["secret"],
  };
}

/** @throws Conflict for a region that the control plane's worker drives */
export function requireAgents(region: RegionDetails): void {
  if (region.mode === "direct")
    throw new Conflict(
      invalidState(
        "region_has_agent",
        `region ${region.slug} is of mode direct: the control plane's worker does its jobs, and no agent has a place there`,
        { resource: region.slug, fix: "Name its region file in KULE_DIRECT_REGIONS of the worker" },
      ),
    );
}
