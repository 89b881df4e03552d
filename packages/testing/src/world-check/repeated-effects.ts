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
 * What one job may do to a VM only once, and what tells two such effects of one job apart. A clone that failed and was
 * rolled back is none.
 */
const onceOnly: { readonly [op: string]: (detail: Readonly<Record<string, unknown>>) => string } = {
  "clone-finished": () => "",
  "config-changed": ({ set, deleted }) => JSON.stringify([set, deleted]),
  "disk-resized": ({ disk }) => String(disk),
  "vm-started": () => "",
  "vm-stopped": () => "",
  "vm-destroyed": () => "",
  "volume-freed": ({ volid }) => String(volid),
};

/** I8: a job that was run again, wherever its first run broke off, has not done again what was done. */
export function repeatedEffects(
  journal: readonly JournalEntry[],
  runs: readonly JobRun[],
): readonly Violation[] {
  const runsOf = Map.groupBy(runs, ({ vmid }) => vmid);
  const seen = new Map<number, Map<string, number>>();
  for (const { op, vmid, at, detail = {} } of journal) {
    if (vmid === undefined) continue;
    // Somebody meddled: what was undone has to be done again.
    if (op.startsWith("world-")) seen.delete(vmid);
    const key = onceOnly[op]?.(detail);
    const run = key === undefined ? undefined : latestOf(runsOf.get(vmid) ?? [], at);
    if (run === undefined) continue;
    const counts = seen.get(vmid) ?? new Map<string, number>();
    const name = `${run.id} (${run.kind}), VM ${vmid}: ${op}${key === "" ? "" : ` ${key}`}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    seen.set(vmid, counts);
  }
  return [...seen.values()].flatMap((counts) =>
    [...counts]
      .filter(([, count]) => count > 1)
      .map(([name, count]) => ({
        invariant: "I8" as const,
        check: "a job does nothing to a VM twice",
        subject: `${name}, ${count} times`,
      })),
  );
}

/** Jobs of a server run one after the other, so the effect is of the one that was claimed last before it. */
function latestOf(runs: readonly JobRun[], at: number): JobRun | undefined {
  return runs
    .filter(({ started_at }) => started_at <= at + 1)
    .reduce<JobRun | undefined>(
      (latest, run) => (latest === undefined || run.started_at > latest.started_at ? run : latest),
      undefined,
    );
}
