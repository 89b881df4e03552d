/** How a coming task shall go wrong. */
export interface TaskFault {
  /** Task type such as qmclone; any when absent. */
  readonly type?: string;
  /** The id of the task (for a clone: the source VM). */
  readonly id?: string;
  readonly action:
    | "warnings"
    | "never-ends"
    | "ok-without-effect"
    | "log-missing"
    | "error"
    | "killed"
    | "held";
  /** For "error": the text the task ends with, before it does anything. */
  readonly text?: string;
  /** For "killed" and "held": the stage at whose beginning it happens; the first one when absent. */
  readonly stage?: string;
  /** How many tasks it hits; 1 when absent. */
  readonly count?: number;
}

export interface TaskFaults {
  add(fault: TaskFault): void;
  /** The fault for a task that starts now; it is used up. */
  take(type: string, id: string): TaskFault | undefined;
  list(): readonly TaskFault[];
  clear(): void;
  /** Stops a task where it is until {@link TaskFaults.release}; called by the worker. */
  hold(upid: string): Promise<void>;
  /** Resolves with the UPID of a held task, at once when there is one. */
  whenHeld(): Promise<string>;
  /** Lets all held tasks continue. */
  release(): void;
  /** Guests that ignore every request to shut down. */
  readonly unresponsiveGuests: Set<number>;
  /** Guests whose agent never answers. */
  readonly agentless: Set<number>;
  /** Appliances that refuse every new state, by their VM: which of its programs fails, and what it prints. */
  readonly refusingAppliances: Map<number, ApplianceRefusal>;
  /** Volumes whose removal fails. */
  readonly stuckVolumes: Set<string>;
}

export interface ApplianceRefusal {
  /** `receive`: the disk of its system is full. */
  readonly by: "receive" | "validate" | "activate" | "check";
  readonly text: string;
}

export function makeTaskFaults(): TaskFaults {
  let faults: { fault: TaskFault; left: number }[] = [];
  const unresponsiveGuests = new Set<number>();
  const agentless = new Set<number>();
  const refusingAppliances = new Map<number, ApplianceRefusal>();
  const stuckVolumes = new Set<string>();
  const held = new Map<string, () => void>();
  let watchers: ((upid: string) => void)[] = [];
  const release = (): void => {
    for (const go of held.values()) go();
    held.clear();
  };
  return {
    hold: (upid) =>
      new Promise((resolve) => {
        held.set(upid, resolve);
        for (const watcher of watchers) watcher(upid);
        watchers = [];
      }),
    whenHeld: async () => {
      const first = held.keys().next().value;
      return first ?? (await new Promise<string>((resolve) => watchers.push(resolve)));
    },
    release,
    unresponsiveGuests,
    agentless,
    refusingAppliances,
    stuckVolumes,
    add: (fault) => {
      faults.push({ fault, left: fault.count ?? 1 });
    },
    take: (type, id) => {
      const hit = faults.find(({ fault }) => (fault.type ?? type) === type && (fault.id ?? id) === id);
      if (hit === undefined) return undefined;
      hit.left -= 1;
      if (hit.left <= 0) faults = faults.filter((entry) => entry !== hit);
      return hit.fault;
    },
    list: () => faults.map(({ fault, left }) => ({ ...fault, count: left })),
    clear: () => {
      faults = [];
      release();
      unresponsiveGuests.clear();
      agentless.clear();
      refusingAppliances.clear();
      stuckVolumes.clear();
    },
  };
}
