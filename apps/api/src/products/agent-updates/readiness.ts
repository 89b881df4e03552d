import { compareVersions, isVersion } from "@kule/agent-release/version";
import type { SeenAgent, SeenRegion } from "@kule/rules/agent-rollout/judge-region";
import { type RawBuilder, sql } from "kysely";
import { type RegionAgent, reportingAgents } from "../regions/index.ts";

/** Which agents a release is for. */
type ReleaseBounds = {
  readonly version: string;
  readonly minimum_previous_version: string;
  readonly rollback_to: boolean;
};

/** What a rollout reads of a region. */
export type RegionState = {
  readonly slug: string;
  readonly mode: string;
  readonly report_age: number | null;
  readonly ok: boolean;
  readonly ok_age: number;
  readonly agents: readonly RegionAgent[];
};

/** The columns of `RegionState`, of the table `region`. */
export const ofRegion = [
  sql<string>`region.slug`.as("slug"),
  sql<string>`region.mode`.as("mode"),
  sql<number | null>`extract(epoch from clock_timestamp() - region.health_at)::float8`.as("report_age"),
  sql<boolean>`coalesce(region.health_ok, false)`.as("ok"),
  sql<number>`extract(epoch from clock_timestamp() - coalesce(region.status_since, region.created_at))::float8`.as(
    "ok_age",
  ),
  reportingAgents(sql.ref("region.slug") as RawBuilder<unknown>).as("agents"),
] as const;

/** @param earlier the times of the agents' last updates when the region was offered the version */
export function seenRegion(
  { report_age, ok, ok_age, agents }: RegionState,
  release: ReleaseBounds,
  earlier: Readonly<Record<string, string>> = {},
): SeenRegion {
  return {
    reportAgeSeconds: report_age,
    ok,
    okAgeSeconds: ok_age,
    agents: agents.map((agent) => seenAgent(agent, release, earlier)),
  };
}

/** An agent of a region, in a baseline. */
export const keyOf = ({ token_id, name }: RegionAgent): string => `${token_id} ${name}`;

function seenAgent(
  agent: RegionAgent,
  release: ReleaseBounds,
  earlier: Readonly<Record<string, string>>,
): SeenAgent {
  const { name, version, architecture, can_update, update_report: update } = agent;
  return {
    name: name === "" ? null : name,
    version,
    architecture,
    canUpdate: can_update,
    versionObstacle: versionObstacle(version, release),
    update:
      update === null
        ? null
        : {
            version: update.version,
            state: update.state,
            message: update.message,
            isNew: earlier[keyOf(agent)] !== update.at,
          },
  };
}

/** What the agent itself would refuse. */
function versionObstacle(running: string, release: ReleaseBounds): string | null {
  if (!isVersion(running)) return null;
  if (!release.rollback_to && compareVersions(running, release.version) > 0)
    return `runs ${running}, which is newer`;
  return compareVersions(running, release.minimum_previous_version) < 0
    ? `runs ${running}, and the release needs ${release.minimum_previous_version} before it`
    : null;
}
