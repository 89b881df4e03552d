import type { Schemas } from "@kule/contract/schemas";
import type { FolderContents, KnownRelease } from "../../platform/release-folder.ts";
import { viewRegionAgent } from "../regions/index.ts";
import type { RolloutRegionRow, RolloutRow } from "./rollout-store.ts";
import type { SettingsRow } from "./settings-store.ts";

export function viewReleases(contents: FolderContents | null, nowMs: number): Schemas["AgentReleases"] {
  return {
    configured: contents !== null,
    read_at: contents?.readAt.toISOString() ?? null,
    releases: contents?.releases.map((release) => viewRelease(release, nowMs)) ?? [],
    problems: contents?.problems.map(({ path, message }) => ({ path, message })) ?? [],
  };
}

function viewRelease({ release, files }: KnownRelease, nowMs: number): Schemas["AgentReleaseInfo"] {
  return {
    version: release.version,
    channel: release.channel,
    released_at: release.released_at,
    expires_at: release.expires_at,
    expired: Date.parse(release.expires_at) <= nowMs,
    minimum_previous_version: release.minimum_previous_version,
    rollback_to: release.rollback_to,
    files: files.map(({ architecture, size_bytes, sha256, checked }) => ({
      architecture,
      size_bytes,
      sha256,
      problem: checked === null ? "it is being compared with its manifest" : checked.problem,
    })),
  };
}

export function viewSettings(row: SettingsRow): Schemas["AgentUpdateSettings"] {
  return {
    channel: row.channel as Schemas["AgentChannel"],
    window: row.update_window as Schemas["AgentUpdateWindow"] | null,
    paused: row.paused,
    wait_minutes: row.wait_minutes,
    max_at_once: row.max_at_once,
    automatic: row.automatic,
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewRollout(row: RolloutRow): Schemas["AgentRollout"] {
  return {
    id: row.id,
    version: row.version,
    status: row.status as Schemas["AgentRolloutStatus"],
    reason: row.reason,
    automatic: row.automatic,
    first_region: row.first_region,
    regions_count: row.regions_count,
    waits_for: row.waits_for as Schemas["AgentRolloutWait"] | null,
    waits_until: row.waits_until?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

export function viewRolloutWithRegions(
  row: RolloutRow,
  regions: readonly RolloutRegionRow[],
): Schemas["AgentRollout"] {
  return {
    ...viewRollout(row),
    regions: regions.map(({ region, state, reason, offered_at, ended_at, agents }) => ({
      region,
      state,
      reason,
      offered_at: offered_at?.toISOString() ?? null,
      ended_at: ended_at?.toISOString() ?? null,
      agents: agents.map(viewRegionAgent),
    })),
  };
}
