import type { JournalEntry } from "./journal.ts";

/** The real effects on the region, counted from the journal. */
export interface Effects {
  /** Clones that began (a config was written), per new VM id. */
  readonly clones: ReadonlyMap<number, number>;
  /** Clones that reached their end. */
  readonly finishedClones: ReadonlyMap<number, number>;
  readonly starts: ReadonlyMap<number, number>;
  readonly stops: ReadonlyMap<number, number>;
  readonly destroys: ReadonlyMap<number, number>;
  readonly resizes: ReadonlyMap<number, number>;
  readonly configChanges: ReadonlyMap<number, number>;
  /** VM ids cloned with a description that contains this marker. */
  vmsByMarker(marker: string): number[];
  /** Volumes that were allocated and not freed, per VM id. */
  readonly volumes: ReadonlyMap<number, ReadonlySet<string>>;
  /** Requests by task type: qmclone, qmstart, ... */
  readonly tasks: ReadonlyMap<string, number>;
}

/** Sums up a journal. Ground truth for tests: what happened, not what was reported. */
export function effects(journal: readonly JournalEntry[]): Effects {
  const count = (op: string): Map<number, number> => {
    const result = new Map<number, number>();
    for (const { op: name, vmid } of journal) {
      if (name === op && vmid !== undefined) result.set(vmid, (result.get(vmid) ?? 0) + 1);
    }
    return result;
  };
  const tasks = new Map<string, number>();
  const volumes = new Map<number, Set<string>>();
  const allocate = (vmid: number, volid: string): void => {
    volumes.set(vmid, (volumes.get(vmid) ?? new Set()).add(volid));
  };
  for (const { op, vmid, detail } of journal) {
    if (op === "task-started") {
      const type = String(detail?.type);
      tasks.set(type, (tasks.get(type) ?? 0) + 1);
    }
    if (vmid === undefined) continue;
    const volid = detail?.volid;
    if (op === "volume-allocated" && typeof volid === "string") allocate(vmid, volid);
    if (op === "volume-freed" && typeof volid === "string") volumes.get(vmid)?.delete(volid);
    if (op === "config-changed") {
      for (const made of (detail?.allocated as string[] | undefined) ?? []) allocate(vmid, made);
      for (const gone of (detail?.freed as string[] | undefined) ?? []) volumes.get(vmid)?.delete(gone);
    }
    if (op === "clone-rolled-back" || op === "world-vm-deleted") volumes.delete(vmid);
  }
  return {
    clones: count("clone-started"),
    finishedClones: count("clone-finished"),
    starts: count("vm-started"),
    stops: count("vm-stopped"),
    destroys: count("vm-destroyed"),
    resizes: count("disk-resized"),
    configChanges: count("config-changed"),
    tasks,
    volumes,
    vmsByMarker: (marker) => [
      ...new Set(
        journal.flatMap(({ op, vmid, detail }) =>
          op === "clone-finished" && vmid !== undefined && String(detail?.description ?? "").includes(marker)
            ? [vmid]
            : [],
        ),
      ),
    ],
  };
}
