import type { JobChange } from "@kule/testing/rig/job-journal";

export type HandBack = {
  readonly job: string;
  /** From the stop signal until the job was released; null when it never was. */
  readonly seconds: number | null;
};

/**
 * What became of the jobs that an agent held when it was stopped, or was assigned after that: released, or
 * completed. A job that another one took over was not released: its lease had to expire.
 *
 * @param toldAtMs milliseconds since the epoch
 */
export function handBacks(changes: readonly JobChange[], agentName: string, toldAtMs: number): HandBack[] {
  const held: HandBack[] = [];
  for (const [job, all] of Map.groupBy(changes, (change) => change.job)) {
    const claims = all.flatMap((change, index) =>
      change.before !== null &&
      change.after.epoch > change.before.epoch &&
      change.after.agentName === agentName
        ? [index]
        : [],
    );
    for (const index of claims) {
      const epoch = all[index]?.after.epoch;
      const end = all
        .slice(index + 1)
        .find(({ after }) => after.status !== "running" || after.epoch !== epoch);
      if (end !== undefined && end.atMs < toldAtMs) continue;
      const letGo = end !== undefined && end.after.epoch === epoch;
      held.push({ job, seconds: letGo ? Math.max(0, end.atMs - toldAtMs) / 1000 : null });
    }
  }
  return held;
}
