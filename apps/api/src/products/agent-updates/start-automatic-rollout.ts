import { compareVersions, isNewer } from "@kule/agent-release/version";
import type { Database } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { KnownRelease, ReleaseFolder } from "../../platform/release-folder.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { beginRollout } from "./begin-rollout.ts";
import { findOpenRollout } from "./rollout-store.ts";
import { lockSettings, readSettings } from "./settings-store.ts";
import { noteRollout } from "./system-audit.ts";

/**
 * Starts a rollout of the newest release of the channel, when the settings say so and it is newer than all that were rolled out
 * before: one that was stopped or cancelled does not begin again by itself, nor does an older one.
 *
 * @returns its version, or null
 */
export async function startAutomaticRollout(db: Database, releases: ReleaseFolder): Promise<string | null> {
  const settings = await readSettings(db);
  if (!settings.automatic || settings.paused || (await findOpenRollout(db)) !== null) return null;
  const newest = (await releases.read())?.releases.find((each) => isOfChannel(each, settings.channel));
  if (newest === undefined || !isComplete(newest)) return null;
  try {
    return await inTransaction(db, async (tx) => {
      // Two workers start one.
      const { automatic, paused } = await lockSettings(tx);
      if (!automatic || paused) return null;
      const { version } = newest.release;
      const before = await tx.selectFrom("agent_rollout").select("version").distinct().execute();
      if (before.some((row) => !isNewer(version, row.version))) return null;
      const running = await tx.selectFrom("region_agent").select("version").distinct().execute();
      if (!running.some((row) => isOlder(row.version, version))) return null;
      const id = await beginRollout(tx, { release: newest, firstRegion: null, automatic: true });
      await noteRollout(tx, { id, version }, "agent_rollout.start", {});
      return version;
    });
  } catch (error) {
    // An operator has just started one.
    if (error instanceof Conflict) return null;
    throw error;
  }
}

const isOfChannel = ({ release }: KnownRelease, channel: string): boolean =>
  (release.channel === "stable" || channel === "candidate") &&
  !release.rollback_to &&
  Date.parse(release.expires_at) > Date.now();

/** The files of a newest release that is not complete may be on their way: no older one is taken in its place. */
const isComplete = ({ files }: KnownRelease): boolean =>
  files.every(({ checked }) => checked !== null && checked.problem === null);

function isOlder(running: string, version: string): boolean {
  try {
    return compareVersions(running, version) < 0;
  } catch {
    // What the agent calls its version is no version.
    return false;
  }
}
