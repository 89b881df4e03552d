import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { AgentRollout } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { type RegionAgent, reportingAgents } from "../regions/index.ts";

export type RolloutRow = Selectable<AgentRollout> & {
  readonly regions_count: Schemas["AgentRollout"]["regions_count"];
};

export type RolloutRegionRow = {
  readonly region: string;
  readonly state: Schemas["AgentRolloutRegionState"];
  readonly reason: string | null;
  readonly offered_at: Date | null;
  readonly ended_at: Date | null;
  readonly agents: RegionAgent[];
};

/** Running, paused or stopped: there is at most one. In these words, which are those of its index. */
export const isOpen = sql<boolean>`agent_rollout.status in ('running', 'paused', 'stopped')`;

const counts = sql<RolloutRow["regions_count"]>`(
  select json_build_object(
           'waiting', count(*) filter (where part.state = 'waiting'),
           'offered', count(*) filter (where part.state = 'offered'),
           'updated', count(*) filter (where part.state = 'updated'),
           'failed', count(*) filter (where part.state = 'failed'),
           'skipped', count(*) filter (where part.state = 'skipped'))
    from agent_rollout_region part where part.rollout_id = agent_rollout.id)`;

function rollouts(db: Database | Tx) {
  return db.selectFrom("agent_rollout").selectAll("agent_rollout").select(counts.as("regions_count"));
}

export function listRollouts(
  db: Database,
  query: RequestQuery<"listAgentRollouts">,
): Promise<Page<RolloutRow>> {
  return fetchPage(rollouts(db), newestFirst("agent-rollouts", query, "agent_rollout"));
}

export async function findRollout(db: Database | Tx, id: string): Promise<RolloutRow | null> {
  return (await rollouts(db).where("agent_rollout.id", "=", id).executeTakeFirst()) ?? null;
}

export async function findOpenRollout(db: Database | Tx): Promise<RolloutRow | null> {
  return (await rollouts(db).where(isOpen).executeTakeFirst()) ?? null;
}

/** Its regions, in the order in which they are offered the version. */
export function regionsOfRollout(db: Database | Tx, id: string): Promise<RolloutRegionRow[]> {
  return db
    .selectFrom("agent_rollout_region")
    .select([
      "region",
      sql<RolloutRegionRow["state"]>`state`.as("state"),
      "reason",
      "offered_at",
      "ended_at",
      reportingAgents(sql.ref("agent_rollout_region.region")).as("agents"),
    ])
    .where("rollout_id", "=", id)
    .orderBy("position")
    .execute();
}

/** The rollout under its lock, which every change of it takes. */
export async function lockRollout(tx: Tx, id: string): Promise<Selectable<AgentRollout> | null> {
  const row = await tx
    .selectFrom("agent_rollout")
    .selectAll()
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export async function insertRollout(
  tx: Tx,
  rollout: Insertable<AgentRollout> & { readonly id: string },
  regions: readonly string[],
): Promise<void> {
  await tx.insertInto("agent_rollout").values(rollout).execute();
  if (regions.length === 0) return;
  await tx
    .insertInto("agent_rollout_region")
    .values(regions.map((region, position) => ({ rollout_id: rollout.id, region, position })))
    .execute();
}

export type RolloutChanges = Updateable<AgentRollout> & {
  /** It has ended now. */
  readonly isOver?: boolean;
};

export async function updateRollout(
  tx: Tx,
  id: string,
  { isOver = false, ...changes }: RolloutChanges,
): Promise<void> {
  await tx
    .updateTable("agent_rollout")
    .set({ ...changes, ...(isOver ? { ended_at: sql<Date>`clock_timestamp()` } : {}) })
    .where("id", "=", id)
    .execute();
}
