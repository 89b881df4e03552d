import type { CalledOperation } from "../../api-operation.ts";
import type { AgentUpdatesPageProps, RolloutPageProps } from "./props.ts";
import { toSettingsBody, valuesOf } from "./settings-values.ts";

/** The actions of the page of all releases and rollouts as calls. */
export function agentUpdatesCalls({ releases, settings }: AgentUpdatesPageProps): readonly CalledOperation[] {
  return [
    { operation: "getAgentReleases" },
    { operation: "listAgentRollouts" },
    { operation: "createAgentRollout", body: { version: releases.releases[0]?.version ?? "1.4.0" } },
    { operation: "getAgentUpdates" },
    { operation: "updateAgentUpdates", body: toSettingsBody(valuesOf(settings)) },
  ];
}

/** The actions of a rollout's page as calls. */
export function rolloutCalls({ rollout }: RolloutPageProps): readonly CalledOperation[] {
  const path = { agent_rollout_id: rollout.id };
  const change: readonly CalledOperation[] =
    rollout.status === "running"
      ? [{ operation: "pauseAgentRollout", path }]
      : isOpen(rollout)
        ? [{ operation: "resumeAgentRollout", path }]
        : [];
  return [
    { operation: "getAgentRollout", path },
    ...change,
    ...(isOpen(rollout) ? [{ operation: "cancelAgentRollout", path } as const] : []),
  ];
}

export const isOpen = ({ status }: RolloutPageProps["rollout"]): boolean =>
  status === "running" || status === "paused" || status === "stopped";
