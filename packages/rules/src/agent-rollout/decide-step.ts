import { type Baseline, type JobCounts, judgeRegion, runs, type SeenRegion } from "./judge-region.ts";
import { isWindowOpen, nextOpening, type UpdateWindow } from "./window.ts";

export type RegionState = "waiting" | "offered" | "updated" | "failed" | "skipped";

/** A region of a rollout, in the order in which they are offered the version. */
export type RolloutRegion = {
  readonly region: string;
  readonly state: RegionState;
  /** The control plane's worker does the region's jobs: there is no agent to update. */
  readonly isDirect: boolean;
  readonly offeredAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly baseline: Baseline | null;
  readonly seen: SeenRegion;
  readonly jobs: JobCounts;
};

export type Rollout = {
  readonly version: string;
  readonly status: "running" | "paused";
  readonly firstRegion: string | null;
  readonly architectures: readonly string[];
  readonly releaseExpiresAtMs: number;
  readonly regions: readonly RolloutRegion[];
};

export type RolloutSettings = {
  readonly window: UpdateWindow | null;
  readonly paused: boolean;
  readonly waitMinutes: number;
  readonly maxAtOnce: number;
};

export type RegionChange =
  | { readonly region: string; readonly to: "offered" | "updated" }
  | { readonly region: string; readonly to: "failed" | "skipped"; readonly reason: string };

export type RolloutStep = {
  readonly status: "running" | "paused" | "stopped" | "done";
  /** Why it stops. */
  readonly reason: string | null;
  readonly changes: readonly RegionChange[];
  /** What a running rollout waits for now. */
  readonly waitsFor: "regions" | "time" | "window" | "paused_settings" | null;
  readonly waitsUntilMs: number | null;
};

/** A region that was silent for longer than this is not offered a version now. */
const reportingWithinSeconds = 60;

/**
 * What to do next in an open rollout: one region first, then a pause, then the others, some at a time. Everything that gets
 * worse stops it.
 */
export function decideStep(rollout: Rollout, settings: RolloutSettings, nowMs: number): RolloutStep {
  const judged = judgeAll(rollout, settings, nowMs);
  const regions = rollout.regions.map((region) => ({ ...region, ...judged.get(region.region)?.becomes }));
  const changes = [...judged.values()].map(({ change }) => change);
  const failed = changes.find((change) => change.to === "failed");
  if (failed !== undefined && "reason" in failed)
    return stop(changes, `Region ${failed.region}: ${failed.reason}`);
  if (regions.every(hasEnded)) return ended(changes);
  if (nowMs >= rollout.releaseExpiresAtMs)
    return stop(changes, "The release has expired: agents refuse it from now on");
  if (rollout.status === "paused")
    return { status: "paused", reason: null, changes, waitsFor: null, waitsUntilMs: null };
  return offerNext(rollout, regions, settings, changes, nowMs);
}

type Judged = {
  readonly change: RegionChange;
  readonly becomes: { readonly state: RegionState; readonly endedAtMs: number };
};

/** The regions of which the watch has something to say. */
function judgeAll(
  { version, regions }: Rollout,
  { waitMinutes }: RolloutSettings,
  nowMs: number,
): ReadonlyMap<string, Judged> {
  const judged = new Map<string, Judged>();
  for (const { region, state, baseline, offeredAtMs, endedAtMs, seen, jobs } of regions) {
    if ((state !== "offered" && state !== "updated") || baseline === null || offeredAtMs === null) continue;
    // What has worked for as long as the first region is waited for is no more watched.
    if (state === "updated" && nowMs - (endedAtMs ?? nowMs) > waitMinutes * 60_000) continue;
    const offeredAgeSeconds = (nowMs - offeredAtMs) / 1000;
    const verdict = judgeRegion(version, { state, offeredAgeSeconds, baseline, seen, jobs });
    if (verdict.kind === "unchanged") continue;
    const change: RegionChange =
      verdict.kind === "failed"
        ? { region, to: "failed", reason: verdict.reason }
        : { region, to: "updated" };
    judged.set(region, { change, becomes: { state: change.to, endedAtMs: nowMs } });
  }
  return judged;
}

const hasEnded = ({ state }: { readonly state: RegionState }): boolean =>
  state === "updated" || state === "failed" || state === "skipped";

const stop = (changes: readonly RegionChange[], reason: string): RolloutStep => ({
  ...{ status: "stopped", reason, changes },
  ...{ waitsFor: null, waitsUntilMs: null },
});

const ended = (changes: readonly RegionChange[]): RolloutStep => ({
  ...{ status: "done", reason: null, changes },
  ...{ waitsFor: null, waitsUntilMs: null },
});

function offerNext(
  rollout: Rollout,
  regions: readonly RolloutRegion[],
  settings: RolloutSettings,
  before: readonly RegionChange[],
  nowMs: number,
): RolloutStep {
  const waits = (
    waitsFor: NonNullable<RolloutStep["waitsFor"]>,
    waitsUntilMs: number | null = null,
    changes = before,
  ): RolloutStep => ({ status: "running", reason: null, changes, waitsFor, waitsUntilMs });
  if (!regions.some(({ state }) => state === "waiting")) return waits("regions");
  if (settings.paused) return waits("paused_settings");
  const updated = regions.flatMap(({ state, endedAtMs }) => (state === "updated" ? [endedAtMs ?? nowMs] : []));
  const offered = regions.filter(({ state }) => state === "offered").length;
  const isFirst = updated.length === 0;
  const room = (isFirst ? 1 : settings.maxAtOnce) - offered;
  if (isFirst && room <= 0) return waits("regions");
  const waitedUntilMs = isFirst ? nowMs : Math.min(...updated) + settings.waitMinutes * 60_000;
  if (nowMs < waitedUntilMs) return waits("time", waitedUntilMs);
  const { window } = settings;
  if (window !== null && !isWindowOpen(window, nowMs)) return waits("window", nextOpening(window, nowMs));
  if (room <= 0) return waits("regions");

  const { changes, silent } = offersAmong(rollout, regions, { room, isFirst });
  const all = [...before, ...changes];
  const isOffered = changes.some(({ to }) => to === "offered");
  if (isOffered || offered > 0) return waits("regions", null, all);
  // The first region is waited for, also when it is silent: no other one takes its place by chance.
  if (isFirst && silent.some((region) => region === rollout.firstRegion)) return waits("regions", null, all);
  const left = silent.map((region): RegionChange => ({ region, to: "skipped", reason: "the region is silent" }));
  return ended([...all, ...left]);
}

/** Of the regions that wait, in their order: those that are offered the version now, and those that never will be. */
function offersAmong(
  rollout: Rollout,
  regions: readonly RolloutRegion[],
  { room, isFirst }: { readonly room: number; readonly isFirst: boolean },
): { readonly changes: readonly RegionChange[]; readonly silent: readonly string[] } {
  const changes: RegionChange[] = [];
  const silent: string[] = [];
  let left = room;
  for (const each of regions) {
    if (each.state !== "waiting") continue;
    const { region } = each;
    const reason = whyNever(rollout, each);
    if (reason !== null) {
      changes.push({ region, to: "skipped", reason });
      continue;
    }
    if (isSilent(each)) {
      silent.push(region);
      if (isFirst && region === rollout.firstRegion) break;
      continue;
    }
    if (left === 0) continue;
    changes.push({ region, to: "offered" });
    left -= 1;
    if (isFirst) break;
  }
  return { changes, silent };
}

const isSilent = ({ seen: { reportAgeSeconds, agents } }: RolloutRegion): boolean =>
  reportAgeSeconds === null || reportAgeSeconds > reportingWithinSeconds || agents.length === 0;

/** Why a region is not offered a version, now or later; null when it may be. */
export function whyNever(
  { version, architectures }: Pick<Rollout, "version" | "architectures">,
  { isDirect, seen }: Pick<RolloutRegion, "isDirect" | "seen">,
): string | null {
  if (isDirect) return "it has no agent: the control plane's worker does its jobs";
  if (seen.reportAgeSeconds === null) return "it has never reported";
  const { agents } = seen;
  if (agents.length === 0) return null;
  if (agents.every((agent) => runs(agent, version))) return "its agents run the version already";
  for (const agent of agents) {
    const who = agent.name === null ? "its agent" : `agent ${agent.name}`;
    if (!agent.canUpdate) return `${who} cannot update itself`;
    if (agent.architecture !== null && !architectures.includes(agent.architecture))
      return `the release has no file for ${who} (${agent.architecture})`;
  }
  return null;
}
