/** An agent of a region, as it reported last. */
export type SeenAgent = {
  /** Null for one that does not name itself. */
  readonly name: string | null;
  readonly version: string;
  readonly architecture: string | null;
  readonly canUpdate: boolean;
  readonly update: {
    readonly version: string;
    readonly state: string;
    readonly message: string | null;
    /** It was not there yet when the region was offered the version. */
    readonly isNew: boolean;
  } | null;
};

/** Of jobs that were queued in a time, how many have ended, and how many of these have failed. */
export type JobCounts = { readonly ended: number; readonly failed: number };

/** A region as it is now. */
export type SeenRegion = {
  /** Null when it has never reported. */
  readonly reportAgeSeconds: number | null;
  readonly ok: boolean;
  /** Since when it is as healthy as it is. */
  readonly okAgeSeconds: number;
  /** Those that reported in the last minute. */
  readonly agents: readonly SeenAgent[];
};

/** The region when it was offered the version. */
export type Baseline = { readonly ok: boolean; readonly jobs: JobCounts };

export type WatchedRegion = {
  readonly state: "offered" | "updated";
  readonly offeredAgeSeconds: number;
  readonly baseline: Baseline;
  readonly seen: SeenRegion;
  /** Of the jobs that were queued since the offer. */
  readonly jobs: JobCounts;
};

export type RegionVerdict =
  | { readonly kind: "unchanged" }
  | { readonly kind: "updated" }
  | { readonly kind: "failed"; readonly reason: string };

/** A region is silent for as long as no agent of it reports; a restart of its agent takes seconds. */
export const longestSilenceSeconds = 5 * 60;
/** A hypervisor that is unreachable for a moment is no reason to stop. */
const unhealthyForSeconds = 2 * 60;
/** An agent that ended badly before the offer is given time to try again. */
const retryWithinSeconds = 5 * 60;
/** Fewer failed jobs than these prove nothing. */
const fewestFailedJobs = 3;
/** The share of failed jobs may grow by this: it differs from hour to hour. */
const shareTolerance = 0.1;

const endedBadly: ReadonlySet<string> = new Set(["refused", "rolled_back", "failed"]);
const underWay: ReadonlySet<string> = new Set(["downloading", "verified", "draining", "swapped"]);

/** What has become of a region that was offered a version. */
export function judgeRegion(version: string, region: WatchedRegion): RegionVerdict {
  const reason =
    badUpdate(version, region) ?? silence(region) ?? worseHealth(region) ?? moreFailedJobs(region);
  if (reason !== null) return { kind: "failed", reason };
  return region.state === "offered" && isUpdated(version, region)
    ? { kind: "updated" }
    : { kind: "unchanged" };
}

/** How the operator finds the agent again. */
const called = ({ name }: SeenAgent): string => (name === null ? "its agent" : `agent ${name}`);

function badUpdate(version: string, { seen, offeredAgeSeconds }: WatchedRegion): string | null {
  for (const agent of seen.agents) {
    const { update } = agent;
    if (update?.version !== version || !endedBadly.has(update.state)) continue;
    if (!update.isNew && offeredAgeSeconds < retryWithinSeconds) continue;
    const what = {
      refused: "refuses the release",
      rolled_back: "went back to its old version",
      failed: "could not update",
    }[update.state];
    return `${called(agent)} ${what}${update.message === null ? "" : `: ${update.message}`}`;
  }
  return null;
}

function silence({ seen: { reportAgeSeconds } }: WatchedRegion): string | null {
  if (reportAgeSeconds !== null && reportAgeSeconds <= longestSilenceSeconds) return null;
  return `the region has not reported for more than ${longestSilenceSeconds / 60} minutes`;
}

function worseHealth({ baseline, seen }: WatchedRegion): string | null {
  if (!baseline.ok || seen.ok || seen.okAgeSeconds < unhealthyForSeconds) return null;
  return "the region is not ready since the update: its hypervisor cannot be reached or a template is unusable";
}

function moreFailedJobs({ baseline, jobs }: WatchedRegion): string | null {
  if (jobs.failed < fewestFailedJobs || share(jobs) <= share(baseline.jobs) + shareTolerance) return null;
  return `${jobs.failed} of ${jobs.ended} jobs failed since the update, and ${baseline.jobs.failed} of ${baseline.jobs.ended} before`;
}

const share = ({ ended, failed }: JobCounts): number => (ended === 0 ? 0 : failed / ended);

/** Every agent that reports runs the version, and has proven it; and the region is as healthy as it was. */
function isUpdated(version: string, { baseline, seen }: WatchedRegion): boolean {
  return seen.agents.length > 0 && (seen.ok || !baseline.ok) && seen.agents.every((agent) => runs(agent, version));
}

/** A version that was swapped in goes back by itself when it does not prove itself, so it does not count yet. */
export function runs({ version: running, update }: SeenAgent, version: string): boolean {
  return running === version && !(update?.version === version && underWay.has(update.state));
}
