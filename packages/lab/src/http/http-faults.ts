/** A fault between the client and the API. */
export interface HttpFault {
  /** Any method when absent. */
  readonly method?: string;
  /** Regular expression over the path below /api2/json; any when absent. */
  readonly path?: string;
  /** The first matching request it hits, counted from 1; 1 when absent. */
  readonly nth?: number;
  /** How many requests it hits from then on; 1 when absent, 0 = until removed. */
  readonly count?: number;
  readonly action:
    | "drop-before"
    | "drop-after"
    | "hang-before"
    | "hang-after"
    | "delay"
    | "drip"
    | "garbage"
    | "wrong-length"
    | "status-before"
    | "status-after"
    | "world-before"
    | "world-after";
  /** For status-*: the answer instead of the real one. */
  readonly status?: number;
  readonly reason?: string;
  /** For world-*: the call of the world that is made just before or after this request, and its arguments. */
  readonly do?: string;
  readonly args?: readonly unknown[];
  /** For delay: before executing; for drip: between bytes. Real milliseconds. */
  readonly milliseconds?: number;
}

export interface InstalledFault extends HttpFault {
  readonly id: number;
  readonly hits: number;
}

export interface HttpFaults {
  /** Returns an id for {@link HttpFaults.remove}. */
  add(fault: HttpFault): number;
  remove(id: number): void;
  clear(): void;
  list(): InstalledFault[];
  /** The fault that hits this request; counts it as seen by every fault that matches. */
  match(method: string, path: string): HttpFault | undefined;
}

interface Entry {
  readonly id: number;
  readonly fault: HttpFault;
  readonly pattern: RegExp;
  seen: number;
  hits: number;
}

export function makeHttpFaults(): HttpFaults {
  let entries: Entry[] = [];
  let nextId = 1;
  return {
    add: (fault) => {
      const id = nextId++;
      entries.push({ id, fault, pattern: new RegExp(fault.path ?? ""), seen: 0, hits: 0 });
      return id;
    },
    remove: (id) => {
      entries = entries.filter((entry) => entry.id !== id);
    },
    clear: () => {
      entries = [];
    },
    list: () => entries.map(({ id, fault, hits }) => ({ ...fault, id, hits })),
    match: (method, path) => {
      let hit: Entry | undefined;
      for (const entry of entries) {
        if (entry.fault.method !== undefined && entry.fault.method !== method) continue;
        if (!entry.pattern.test(path)) continue;
        entry.seen += 1;
        const count = entry.fault.count ?? 1;
        const due = entry.seen >= (entry.fault.nth ?? 1) && (count === 0 || entry.hits < count);
        if (due && hit === undefined) hit = entry;
      }
      if (hit === undefined) return undefined;
      hit.hits += 1;
      return hit.fault;
    },
  };
}
