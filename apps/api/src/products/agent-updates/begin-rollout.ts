import { type RolloutRegion, whyNever } from "@kule/rules/agent-rollout/decide-step";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { newId } from "../../platform/ids.ts";
import type { KnownRelease } from "../../platform/release-folder.ts";
import { anotherIsOpen, firstRegionCannotUpdate } from "./conflicts.ts";
import { ofRegion, type RegionState, seenRegion } from "./readiness.ts";
import { findOpenRollout, insertRollout } from "./rollout-store.ts";

/** Regions with more servers than this are all large. */
const mostCounted = 1_000;

type BeginRollout = {
  readonly release: KnownRelease;
  /** Null: the smallest region that can be updated. */
  readonly firstRegion: string | null;
  readonly automatic: boolean;
};

/**
 * Starts a rollout over all regions there are, the smallest first: what goes wrong there hurts the fewest. Nothing is offered
 * yet; that is the worker's.
 *
 * @returns its id
 * @throws Conflict when another is open, or the named first region cannot be updated
 */
export async function beginRollout(
  tx: Tx,
  { release: known, firstRegion, automatic }: BeginRollout,
): Promise<string> {
  const { release } = known;
  const open = await findOpenRollout(tx);
  if (open !== null) throw anotherIsOpen(open);
  const architectures = offeredArchitectures(known);
  const regions = await systemQuery(tx, "a rollout begins where the fewest servers are")
    .selectFrom("region")
    .select(ofRegion)
    .orderBy(
      sql`(select count(*) from (select from server where server.region = region.slug and deleted_at is null
            limit ${mostCounted}) counted)`,
    )
    .orderBy("region.slug")
    .execute();
  const never = (region: RegionState) =>
    whyNever({ version: release.version, architectures }, inRollout(region, known));
  const named = firstRegion === null ? undefined : regions.find(({ slug }) => slug === firstRegion);
  const why = named === undefined ? null : never(named);
  if (named !== undefined && why !== null) throw firstRegionCannotUpdate(named.slug, why);
  const first = named ?? regions.find((region) => never(region) === null && region.agents.length > 0);
  const others = regions.filter((region) => region !== first);
  const id = newId("rol");
  await insertRollout(
    tx,
    {
      id,
      version: release.version,
      automatic,
      first_region: first?.slug ?? null,
      architectures: [...architectures],
      minimum_previous_version: release.minimum_previous_version,
      rollback_to: release.rollback_to,
      release_expires_at: new Date(release.expires_at),
    },
    [...(first === undefined ? [] : [first]), ...others].map(({ slug }) => slug),
  ).catch((error: unknown) => {
    if (violatedConstraint(error) === "agent_rollout_one_open") throw anotherIsOpen(null);
    throw error;
  });
  return id;
}

/** Those whose file is not known to be another than its manifest says. */
export const offeredArchitectures = ({ files }: KnownRelease): string[] =>
  files.filter(({ checked }) => checked?.problem == null).map(({ architecture }) => architecture);

const inRollout = (
  region: RegionState,
  { release }: KnownRelease,
): Pick<RolloutRegion, "isDirect" | "seen"> => ({
  isDirect: region.mode === "direct",
  seen: seenRegion(region, release),
});
