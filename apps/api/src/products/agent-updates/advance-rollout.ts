import type { Schemas } from "@kule/contract/schemas";
import {
  decideStep,
  type RegionChange,
  type Rollout,
  type RolloutRegion,
  type RolloutStep,
} from "@kule/rules/agent-rollout/decide-step";
import type { JobCounts } from "@kule/rules/agent-rollout/judge-region";
import { type RawBuilder, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { keyOf, ofRegion, type RegionState, seenRegion } from "./readiness.ts";
import { isOpen, updateRollout } from "./rollout-store.ts";
import { readSettings, type SettingsRow } from "./settings-store.ts";
import { noteRollout } from "./system-audit.ts";

/** Of each kind, the latest so many jobs say how a region does. */
const jobsOfKind = 200;

type Baseline = { readonly ok: boolean; readonly jobs: JobCounts; readonly updates: Record<string, string> };

type PartRow = RegionState & {
  readonly state: RolloutRegion["state"];
  readonly offered_at: Date | null;
  readonly ended_at: Date | null;
  readonly baseline: Baseline | null;
  readonly jobs: JobCounts | null;
};

type Advanced = {
  readonly id: string;
  readonly version: string;
  readonly status: RolloutStep["status"];
  readonly reason: string | null;
  readonly changes: readonly RegionChange[];
};

/**
 * The next step of the rollout that is open, in one transaction under its lock: two workers take one step, and one that is killed
 * has taken it or not.
 *
 * @param kinds of the regions' jobs
 * @returns null when there is nothing to do
 */
export function advanceRollout(db: Database, kinds: readonly string[]): Promise<Advanced | null> {
  return inTransaction(db, async (tx) => {
    const row = await tx
      .selectFrom("agent_rollout")
      .selectAll()
      .select(sql<Date>`clock_timestamp()`.as("now"))
      .where(isOpen)
      .where("status", "<>", "stopped")
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined) return null;
    const [settings, parts] = await Promise.all([readSettings(tx), partsOf(tx, row.id, kinds)]);
    const rollout: Rollout = {
      version: row.version,
      status: row.status === "paused" ? "paused" : "running",
      firstRegion: row.first_region,
      architectures: row.architectures,
      releaseExpiresAtMs: row.release_expires_at.getTime(),
      regions: parts.map((part) => regionOf(part, row)),
    };
    const step = decideStep(rollout, settingsOf(settings), row.now.getTime());
    await writeChanges(tx, row.id, step.changes, { kinds, parts });
    const isOver = step.status === "done";
    const waitsUntil = step.waitsUntilMs === null ? null : new Date(step.waitsUntilMs);
    const isChanged =
      step.status !== row.status ||
      step.waitsFor !== row.waits_for ||
      waitsUntil?.getTime() !== row.waits_until?.getTime();
    if (isChanged)
      await updateRollout(tx, row.id, {
        status: step.status,
        reason: step.reason,
        waits_for: step.waitsFor,
        waits_until: waitsUntil,
        isOver,
      });
    if (step.status === "stopped") await noteRollout(tx, row, "agent_rollout.stop", { reason: step.reason });
    if (isOver) await noteRollout(tx, row, "agent_rollout.end", {});
    return isChanged || step.changes.length > 0
      ? { id: row.id, version: row.version, status: step.status, reason: step.reason, changes: step.changes }
      : null;
  });
}

function settingsOf(row: SettingsRow) {
  const window = row.update_window as Schemas["AgentUpdateWindow"] | null;
  return {
    window: window === null ? null : { days: window.days, from: window.from_time, to: window.to_time },
    paused: row.paused,
    waitMinutes: row.wait_minutes,
    maxAtOnce: row.max_at_once,
  };
}

function partsOf(tx: Tx, rolloutId: string, kinds: readonly string[]): Promise<PartRow[]> {
  return systemQuery(tx, "a rollout watches the jobs of the regions that it updates")
    .selectFrom("agent_rollout_region")
    .innerJoin("region", "region.slug", "agent_rollout_region.region")
    .select(ofRegion)
    .select([
      sql<PartRow["state"]>`agent_rollout_region.state`.as("state"),
      "agent_rollout_region.offered_at",
      "agent_rollout_region.ended_at",
      sql<Baseline | null>`agent_rollout_region.baseline`.as("baseline"),
      sql<JobCounts | null>`case when agent_rollout_region.state in ('offered', 'updated') then
        ${jobCounts(kinds, sql`region.slug`, sql`agent_rollout_region.offered_at`)} end`.as("jobs"),
    ])
    .where("agent_rollout_region.rollout_id", "=", rolloutId)
    .orderBy("agent_rollout_region.position")
    .execute();
}

/** How many jobs have ended and failed of those that were queued since a time, as far as the latest of each kind show it. */
function jobCounts(
  kinds: readonly string[],
  region: RawBuilder<unknown>,
  since: RawBuilder<unknown>,
): RawBuilder<JobCounts> {
  return sql`(
    select json_build_object('ended', count(*) filter (where queued.status in ('succeeded', 'failed')),
                             'failed', count(*) filter (where queued.status = 'failed'))
      from unnest(${kinds}::text[]) as listed (kind)
     cross join lateral (
       select job.status from job
        where job.region = ${region} and job.kind = listed.kind and job.created_at > ${since}
        order by job.created_at desc, job.id desc limit ${sql.lit(jobsOfKind)}) queued)`;
}

function regionOf(
  part: PartRow,
  release: { version: string; minimum_previous_version: string; rollback_to: boolean },
): RolloutRegion {
  return {
    region: part.slug,
    state: part.state,
    isDirect: part.mode === "direct",
    offeredAtMs: part.offered_at?.getTime() ?? null,
    endedAtMs: part.ended_at?.getTime() ?? null,
    baseline: part.baseline,
    seen: seenRegion(part, release, part.baseline?.updates),
    jobs: part.jobs ?? { ended: 0, failed: 0 },
  };
}

async function writeChanges(
  tx: Tx,
  rolloutId: string,
  changes: readonly RegionChange[],
  { kinds, parts }: { readonly kinds: readonly string[]; readonly parts: readonly PartRow[] },
): Promise<void> {
  const now = sql<Date>`clock_timestamp()`;
  for (const change of changes) {
    const { region, to } = change;
    const part = parts.find(({ slug }) => slug === region);
    if (part === undefined) throw new Error(`${region} is not of the rollout`);
    await tx
      .updateTable("agent_rollout_region")
      .set(
        to === "offered"
          ? { state: to, offered_at: now, baseline: JSON.stringify(await baselineOf(tx, part, kinds)) }
          : { state: to, ended_at: now, reason: "reason" in change ? change.reason : null },
      )
      .where("rollout_id", "=", rolloutId)
      .where("region", "=", region)
      .execute();
  }
}

/** What the region is like before the update: the day before counts. */
async function baselineOf(tx: Tx, part: PartRow, kinds: readonly string[]): Promise<Baseline> {
  const since = sql`clock_timestamp() - interval '24 hours'`;
  const { rows } = await sql<{ jobs: JobCounts }>`
    select ${jobCounts(kinds, sql`${part.slug}`, since)} as jobs`.execute(
    systemQuery(tx, "a rollout watches the jobs of the regions that it updates"),
  );
  const updates = part.agents.flatMap((agent) =>
    agent.update_report === null ? [] : [[keyOf(agent), agent.update_report.at] as const],
  );
  return {
    ok: part.ok,
    jobs: rows[0]?.jobs ?? { ended: 0, failed: 0 },
    updates: Object.fromEntries(updates),
  };
}
