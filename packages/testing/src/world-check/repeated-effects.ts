import type { Violation } from "@kule/invariants/violation";
import type { JournalEntry } from "@kule/lab/journal";

/** A job that has been claimed, with a VM number of its server. */
export type JobRun = {
  readonly id: string;
  readonly kind: string;
  readonly region: string;
  readonly vmid: number;
  /** First claimed then, in milliseconds since the epoch. */
  readonly started_at: number;
};

/**
 * Effects that one job may have on a VM only once, and what distinguishes two such effects of one job. A
 * clone that failed and was rolled back is none.
 */
const onceOnly: { readonly [op: string]: (detail: Readonly<Record<string, unknown>>) => string } = {
  "clone-finished": () => "",
  "config-changed": ({ set, deleted, devices = {} }) => JSON.stringify([set, deleted, devices]),
  "disk-resized": ({ disk }) => String(disk),
  "vm-started": () => "",
  "vm-stopped": () => "",
  "vm-destroyed": () => "",
  "volume-freed": ({ volid }) => String(volid),
};

/**
 * I8: a job that was run again, wherever its first run broke off, has not done again what was done. A job that a task has
 * lied to does over, once a lie, what it had built on it.
 */
export function repeatedEffects(
  journal: readonly JournalEntry[],
  runs: readonly JobRun[],
): readonly Violation[] {
  const runsOf = Map.groupBy(runs, ({ vmid }) => vmid);
  const seen = new Map<number, Map<string, number>>();
  const falseAnswers = new Map<string, number>();
  // A finding stays a finding, whatever is done to the VM afterwards.
  const found = new Map<string, number>();
  for (const { op, vmid, at, detail = {} } of journal) {
    // VMs on a node that failed have to be started again.
    if (op === "world-node-down" && Array.isArray(detail.guests))
      for (const guest of detail.guests as readonly number[]) seen.delete(guest);
    if (vmid === undefined) continue;
    const isFalseAnswer = op === "world-task-did-nothing";
    // A manual change: what was undone has to be done again.
    if (op.startsWith("world-") && !isFalseAnswer) seen.delete(vmid);
    const key = isFalseAnswer ? "" : onceOnly[op]?.(detail);
    const run = key === undefined ? undefined : latestOf(runsOf.get(vmid) ?? [], at);
    if (run === undefined) continue;
    if (isFalseAnswer) falseAnswers.set(run.id, (falseAnswers.get(run.id) ?? 0) + 1);
    else {
      const counts = seen.get(vmid) ?? new Map<string, number>();
      const name = `${run.id} (${run.kind}), VM ${vmid}: ${op}${key === "" ? "" : ` ${key}`}`;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      seen.set(vmid, counts);
      if (count > 1 + (falseAnswers.get(run.id) ?? 0)) found.set(name, Math.max(count, found.get(name) ?? 0));
    }
  }
  return [...found].map(([name, count]) => ({
    invariant: "I8" as const,
    check: "a job does nothing to a VM twice",
    subject: `${name}, ${count} times`,
  }));
}

/**
 * Jobs of a server run one after the other, so the effect belongs to the last one that was claimed before it.
 */
function latestOf(runs: readonly JobRun[], at: number): JobRun | undefined {
  return runs
    .filter(({ started_at }) => started_at <= at + 1)
    .reduce<JobRun | undefined>(
      (latest, run) => (latest === undefined || run.started_at > latest.started_at ? run : latest),
      undefined,
    );
}
