import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { lockSettings, updateSettings } from "./settings-store.ts";
import { viewSettings } from "./view.ts";

export async function updateAgentUpdates(
  request: ApiRequest<"updateAgentUpdates">,
  tx: Tx,
): Promise<Outcome> {
  const { window, ...changes } = request.body;
  request.checkGeneration(await lockSettings(tx));
  const updated = await updateSettings(tx, {
    ...changes,
    ...(window === undefined ? {} : { update_window: window === null ? null : JSON.stringify(window) }),
  });
  return { reply: reply(200, viewSettings(updated)), resource: "agent-updates" };
}
