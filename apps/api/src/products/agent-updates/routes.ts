import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { cancelAgentRollout } from "./cancel-agent-rollout.ts";
import { checkCreateAgentRollout, createAgentRollout } from "./create-agent-rollout.ts";
import { pauseAgentRollout } from "./pause-agent-rollout.ts";
import { resumeAgentRollout } from "./resume-agent-rollout.ts";
import { findRollout, listRollouts, type RolloutRow, regionsOfRollout } from "./rollout-store.ts";
import { readSettings } from "./settings-store.ts";
import { updateAgentUpdates } from "./update-agent-updates.ts";
import { viewReleases, viewRollout, viewRolloutWithRegions, viewSettings } from "./view.ts";

export function mountAgentUpdates(api: Api): void {
  operation(api, "getAgentReleases", {
    handle: async ({ deps }) => reply(200, viewReleases(await deps.releases.read(), Date.now())),
  });
  operation(api, "getAgentUpdates", {
    handle: async ({ db }) => reply(200, viewSettings(await readSettings(db))),
  });
  operation(api, "updateAgentUpdates", { mutate: updateAgentUpdates });

  operation(api, "listAgentRollouts", {
    handle: async (request) => {
      const page = await listRollouts(request.db, request.query);
      return reply(200, { items: page.rows.map(viewRollout), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createAgentRollout", { check: checkCreateAgentRollout, mutate: createAgentRollout });
  operation(api, "getAgentRollout", {
    find: rolloutOf,
    handle: async ({ db }, rollout) =>
      reply(200, viewRolloutWithRegions(rollout, await regionsOfRollout(db, rollout.id))),
  });
  operation(api, "pauseAgentRollout", { find: rolloutOf, mutate: pauseAgentRollout });
  operation(api, "resumeAgentRollout", { find: rolloutOf, mutate: resumeAgentRollout });
  operation(api, "cancelAgentRollout", { find: rolloutOf, mutate: cancelAgentRollout });
}

function rolloutOf(request: ApiRequest): Promise<RolloutRow | null> {
  return findRollout(request.db, request.pathId("agent_rollout_id", "rol"));
}
