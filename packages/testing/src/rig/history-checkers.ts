import type { HistoryEvent } from "./history.ts";

type Events = readonly HistoryEvent[];

const ofOperation = (events: Events, operation: string) =>
  events.filter((event) => event.operation === operation);

function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

export type QueueFindings = {
  readonly attempted: number;
  readonly acknowledged: number;
  /** Acknowledged, and never returned. */
  readonly lost: readonly string[];
  /** Returned, and never put in. */
  readonly unexpected: readonly string[];
  /** Returned more often than it was put in. */
  readonly duplicated: readonly string[];
  /** Returned although its acknowledgement was lost: allowed, and counted. */
  readonly recovered: readonly string[];
};

/**
 * Everything that is put in is returned, once: over `enqueue` (the requested value) and `dequeue` (ok with
 * the returned value). Values are compared as text. A refused enqueue (`fail`) must not be returned.
 */
export function totalQueue(
  events: Events,
  { enqueue = "enqueue", dequeue = "dequeue" }: { enqueue?: string; dequeue?: string } = {},
): QueueFindings {
  const puts = ofOperation(events, enqueue);
  const keyOf = (event: HistoryEvent) => event.key ?? String(event.value);
  const of = (type: HistoryEvent["type"]) => countBy(puts.filter((event) => event.type === type).map(keyOf));
  const [asked, acknowledged, refused] = [of("invoke"), of("ok"), of("fail")];
  const out = countBy(
    ofOperation(events, dequeue)
      .filter((event) => event.type === "ok")
      .map(keyOf),
  );
  const possible = (value: string) => (asked.get(value) ?? 0) - (refused.get(value) ?? 0);
  return {
    attempted: [...asked.values()].reduce((sum, count) => sum + count, 0),
    acknowledged: [...acknowledged.values()].reduce((sum, count) => sum + count, 0),
    lost: [...acknowledged.keys()].filter((value) => (out.get(value) ?? 0) < (acknowledged.get(value) ?? 0)),
    unexpected: [...out.keys()].filter((value) => possible(value) === 0),
    duplicated: [...out.keys()].filter((value) => {
      const most = possible(value);
      return most > 0 && (out.get(value) ?? 0) > most;
    }),
    recovered: [...out.keys()].filter(
      (value) => possible(value) > 0 && (out.get(value) ?? 0) > (acknowledged.get(value) ?? 0),
    ),
  };
}

/** Identifiers that were given out (ok of `operation`) more than once. */
export function uniqueIds(
  events: Events,
  operation = "generate",
): { readonly given: number; readonly duplicated: readonly string[] } {
  const counts = countBy(
    ofOperation(events, operation)
      .filter((event) => event.type === "ok")
      .map((event) => String(event.value)),
  );
  return {
    given: [...counts.values()].reduce((sum, count) => sum + count, 0),
    duplicated: [...counts].filter(([, count]) => count > 1).map(([value]) => value),
  };
}

export type SetFindings = {
  readonly added: number;
  /** Acknowledged and missing in the last read, or in a read that began after another one had seen it. */
  readonly lost: readonly string[];
  /** In a read, and never requested, or refused. */
  readonly unexpected: readonly string[];
  /** Twice in one read. */
  readonly duplicated: readonly string[];
  /** Acknowledged, missing in a read that began later, there in the last one. */
  readonly stale: readonly string[];
};

/**
 * A set that only grows: over `add` and `read` (ok with an array of all items).
 *
 * @throws Error without a read that began after the last add ended: such a history proves nothing
 */
export function setFull(
  events: Events,
  { add = "add", read = "read" }: { add?: string; read?: string } = {},
): SetFindings {
  const adds = ofOperation(events, add);
  const reads = readsOf(ofOperation(events, read));
  const last = reads.at(-1);
  const lastAdd = adds.findLast(({ type }) => type !== "invoke")?.index ?? -1;
  if (last === undefined || last.beganAt < lastAdd)
    throw new Error("the history has no read after its last add, so nothing can be said of what was lost");

  const asked = new Set(adds.filter(({ type }) => type === "invoke").map(({ value }) => String(value)));
  const refused = new Set(adds.filter(({ type }) => type === "fail").map(({ value }) => String(value)));
  /** From which event on an element must be seen: its acknowledgement, or the end of a read that saw it. */
  const knownFrom = new Map<string, number>();
  const know = (value: string, index: number) =>
    knownFrom.set(value, Math.min(index, knownFrom.get(value) ?? Number.POSITIVE_INFINITY));
  for (const { type, value, index } of adds) if (type === "ok") know(String(value), index);
  for (const { elements, endedAt } of reads) for (const value of elements) know(value, endedAt);

  const [lost, stale] = [new Set<string>(), new Set<string>()];
  for (const [value, from] of knownFrom) {
    const isMissing = reads.some((each) => each.beganAt > from && !each.elements.has(value));
    if (!last.elements.has(value)) lost.add(value);
    else if (isMissing) stale.add(value);
  }
  return {
    added: asked.size,
    lost: [...lost],
    unexpected: [...new Set(reads.flatMap(({ elements }) => [...elements]))].filter(
      (value) => !asked.has(value) || refused.has(value),
    ),
    duplicated: [...new Set(reads.flatMap(({ twice }) => twice))],
    stale: [...stale],
  };
}

type Read = {
  readonly beganAt: number;
  readonly endedAt: number;
  readonly elements: ReadonlySet<string>;
  readonly twice: readonly string[];
};

function readsOf(events: Events): Read[] {
  const open = new Map<string, number>();
  const reads: Read[] = [];
  for (const { type, process, index, value } of events) {
    if (type === "invoke") open.set(process, index);
    if (type !== "ok") continue;
    const elements = (value as readonly unknown[]).map(String);
    const counts = countBy(elements);
    reads.push({
      beganAt: open.get(process) ?? index,
      endedAt: index,
      elements: new Set(elements),
      twice: [...counts].filter(([, count]) => count > 1).map(([element]) => element),
    });
  }
  return reads.sort((one, other) => one.beganAt - other.beganAt);
}

/** The allowed events of one resource, one after the other. */
export type SequentialModel<State> = {
  readonly initial: State;
  /** The state after the event, or in words why it is impossible. */
  readonly next: (
    state: State,
    event: HistoryEvent,
  ) => { readonly state: State } | { readonly wrong: string };
};

/** Runs each key's ok events through the model and returns, for each key, the first impossible one. */
export function sequentialViolations<State>(events: Events, model: SequentialModel<State>): string[] {
  const states = new Map<string, State>();
  const wrong = new Map<string, string>();
  for (const event of events) {
    if (event.type !== "ok" || event.key === null || wrong.has(event.key)) continue;
    const before = states.has(event.key) ? (states.get(event.key) as State) : model.initial;
    const after = model.next(before, event);
    if ("wrong" in after) wrong.set(event.key, `${event.key}: ${after.wrong}`);
    else states.set(event.key, after.state);
  }
  return [...wrong.values()];
}
