import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { endToken, findToken, listTokens, replaceToken, viewToken } from "../tokens/index.ts";
import { approveAgentKey, refuseAgentKey } from "./agent-key.ts";
import { checkRegion } from "./check-region.ts";
import { createAgentToken } from "./create-agent-token.ts";
import { createEnrolment } from "./create-enrolment.ts";
import { createRegion } from "./create-region.ts";
import { redeemEnrolment } from "./redeem-enrolment.ts";
import { regionOf } from "./region-of-path.ts";
import { listRegions } from "./store.ts";
import { updateRegion } from "./update-region.ts";
import { viewRegion } from "./view.ts";

/** How long a rotated agent token stays valid, so that there is time to restart the agent. */
const defaultOverlapSeconds = 600;

export function mountRegions(api: Api): void {
  operation(api, "listRegions", {
    handle: async (request) => {
      const page = await listRegions(request.db, request.query);
      return reply(200, { items: page.rows.map(viewRegion), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createRegion", { check: checkRegion, mutate: createRegion });
  operation(api, "getRegion", {
    find: regionOf,
    handle: async (_request, region) => reply(200, viewRegion(region)),
  });
  operation(api, "updateRegion", { find: regionOf, check: checkRegion, mutate: updateRegion });

  operation(api, "approveAgentKey", { find: regionOf, mutate: approveAgentKey });
  operation(api, "refuseAgentKey", { find: regionOf, mutate: refuseAgentKey });

  operation(api, "listAgentTokens", {
    find: regionOf,
    handle: async (request, { slug }) => {
      const page = await listTokens(request.db, { kind: "agent", region: slug }, request.query);
      return reply(200, { items: page.rows.map(viewToken), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createAgentToken", { find: regionOf, mutate: createAgentToken });
  operation(api, "createEnrolment", { find: regionOf, mutate: createEnrolment });
  operation(api, "getEnrolmentAuthority", {
    handle: async ({ deps }) =>
      reply(200, { certificate: deps.settings.publicAuthority?.certificate ?? null }),
  });
  operation(api, "redeemEnrolment", { mutate: redeemEnrolment });
  operation(api, "revokeAgentToken", {
    find: agentTokenOf,
    handle: (request, token) => endToken(request, { kind: "agent", region: token.region }, token.id),
  });
  operation(api, "rotateAgentToken", {
    find: agentTokenOf,
    handle: (request, token) =>
      replaceToken(
        request,
        { kind: "agent", region: token.region },
        token.id,
        (request.body as Schemas["AgentTokenRotate"]).overlap_seconds ?? defaultOverlapSeconds,
      ),
  });
}

/** The token and its region; null when the token is another region's. */
async function agentTokenOf(request: ApiRequest): Promise<{ id: string; region: string } | null> {
  const region = await regionOf(request);
  if (region === null) return null;
  const owner = { kind: "agent", region: region.slug } as const;
  const token = await findToken(request.db, owner, request.pathId("token_id", "tok"));
  return token === null ? null : { id: token.id, region: region.slug };
}
