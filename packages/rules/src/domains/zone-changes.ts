import { inField, type Problem, ProblemList, type Problems } from "./problem.ts";
import { readRecordName } from "./record-name.ts";
import {
  isSameRecordSet,
  mergedProblems,
  mergeValues,
  type RecordSet,
  type RecordSetRule,
  readRecordSet,
  recordSetKey,
  type Zone,
} from "./record-set.ts";
import { readRecordType } from "./record-types.ts";
import { type ZoneRule, zoneProblems } from "./zone-rules.ts";

/** One change of a list, as a request has it. */
export type ZoneChange = {
  /** `upsert` replaces the whole record set; `add` and `remove` change single values of it. */
  readonly op: "upsert" | "delete" | "add" | "remove";
  readonly name: string;
  readonly type: string;
  /** In seconds. Null: the domain's default; with `add` and `remove` the present TTL. */
  readonly ttl: number | null;
  /** Empty with `delete`. */
  readonly values: readonly string[];
  /**
   * The etag that the record set must have before the list is applied; `*`: it must exist; null: it may be what
   * it is.
   */
  readonly ifMatch: string | null;
  /** True: there must be no such record set before the list is applied. */
  readonly ifNoneMatch?: boolean;
};

/** A record set of the zone. The etag is opaque here. */
export type PresentRecordSet = RecordSet & { readonly etag: string };

export type ChangeRule = RecordSetRule | ZoneRule | "values_of_delete" | "etag_differs" | "exists_already";

/** A problem of the change at `index`; its field is one of that change. Name and type are as they were given. */
export type ChangeProblem = Problem<ChangeRule> & {
  readonly index: number;
  readonly name: string;
  readonly type: string;
};

/** What a list of changes does, in the order in which it first names each record set. */
export type ZoneDiff = {
  readonly created: readonly RecordSet[];
  readonly changed: readonly { readonly before: PresentRecordSet; readonly after: RecordSet }[];
  readonly deleted: readonly PresentRecordSet[];
};

export type ZoneChangesDecision =
  | { readonly ok: true; readonly recordSets: readonly RecordSet[]; readonly diff: ZoneDiff }
  /** `stale`: all problems are record sets that have another etag than the client has seen. */
  | ({ readonly ok: false; readonly reason: "invalid" | "stale" } & Problems<ChangeProblem>);

/** A change whose texts were read. */
type ReadChange = {
  readonly index: number;
  readonly op: ZoneChange["op"];
  readonly given: ZoneChange;
  readonly key: string;
  /** Of `delete` only name and type have a meaning. */
  readonly recordSet: RecordSet;
};

/**
 * Applies a list of changes in its order, all or none.
 *
 * What is wrong with the changes themselves comes first, then wrong etags, then the rules of the zone: a client
 * that has not seen the present record sets cannot make use of what is wrong together with them.
 *
 * @param present the record sets of the zone; those of the names that the changes have are enough
 * @returns the record sets afterwards (those that stay are the same objects) and the difference
 */
export function applyZoneChanges(
  present: readonly PresentRecordSet[],
  changes: readonly ZoneChange[],
  zone: Zone,
): ZoneChangesDecision {
  const problems = new ProblemList<ChangeProblem>();
  const read = changes.flatMap((change, index) => readChange(change, index, zone, problems));
  if (!problems.isEmpty) return { reason: "invalid", ...problems.refusal() };

  const before = new Map(present.map((recordSet) => [recordSetKey(recordSet), recordSet]));
  for (const change of read) problems.add(...etagProblems(change, before.get(change.key)));
  if (!problems.isEmpty) return { reason: "stale", ...problems.refusal() };

  const after = new Map<string, RecordSet>(before);
  for (const change of read) applyOne(after, change, zone.defaultTtlSeconds);
  problems.add(...problemsAfter(after, read, zone.name));
  if (!problems.isEmpty) return { reason: "invalid", ...problems.refusal() };

  const keys = [...new Set(read.map(({ key }) => key))];
  keepWhatIsSame(before, after, keys);
  return { ok: true, recordSets: [...after.values()], diff: diffOf(before, after, keys) };
}

function readChange(
  given: ZoneChange,
  index: number,
  zone: Zone,
  problems: ProblemList<ChangeProblem>,
): ReadChange[] {
  const reading = given.op === "delete" ? readDelete(given, zone) : readRecordSet(given, zone);
  if (reading.ok) {
    const { recordSet } = reading;
    return [{ index, op: given.op, given, key: recordSetKey(recordSet), recordSet }];
  }
  problems.add(...reading.problems.map((problem) => ofChange(given, index, problem)));
  problems.addUntold(reading.moreProblems);
  return [];
}

function readDelete({ name: nameText, type: typeText, values }: ZoneChange, zone: Zone) {
  const problems = new ProblemList<Problem<ChangeRule>>();
  const name = readRecordName(nameText, zone.name);
  if (!name.ok) problems.add(name.problem);
  const type = readRecordType(typeText);
  if (!type.ok) problems.add(inField("type", type.flaw));
  // Whoever gives values means these alone, and would lose the others.
  if (values.length > 0)
    problems.add({
      rule: "values_of_delete",
      field: "values",
      message: "A record set is deleted with all of its values",
      fix: "Leave out the values, or use the op remove to remove these alone",
    });
  if (!problems.isEmpty || !name.ok || !type.ok) return problems.refusal();
  const recordSet: RecordSet = { name: name.name, type: type.value, ttl: zone.defaultTtlSeconds, values: [] };
  return { ok: true, recordSet } as const;
}

function etagProblems(change: ReadChange, present: PresentRecordSet | undefined): ChangeProblem[] {
  const { ifMatch, ifNoneMatch = false } = change.given;
  if (ifNoneMatch && present !== undefined)
    return [
      ofChange(change.given, change.index, {
        rule: "exists_already",
        field: "if_none_match",
        message: "There is such a record set already",
        fix: "Read it and decide anew, or leave out the condition to replace it",
      }),
    ];
  if (ifMatch === null || ifMatch === present?.etag || (ifMatch === "*" && present !== undefined)) return [];
  const problem: Problem<ChangeRule> = {
    rule: "etag_differs",
    field: "if_match",
    message:
      present === undefined
        ? "There is no such record set any more"
        : "The record set was changed since you have read it",
    fix: "Read the record set again and decide anew",
  };
  return [ofChange(change.given, change.index, problem)];
}

function applyOne(sets: Map<string, RecordSet>, change: ReadChange, defaultTtlSeconds: number): void {
  const next = nextOf(sets.get(change.key) ?? null, change, defaultTtlSeconds);
  if (next === null) sets.delete(change.key);
  else sets.set(change.key, next);
}

function nextOf(present: RecordSet | null, change: ReadChange, defaultTtlSeconds: number): RecordSet | null {
  const { op, recordSet, given } = change;
  if (op === "delete") return null;
  if (op === "upsert") return recordSet;
  return mergeValues(recordSet, present, { op, values: recordSet.values, ttl: given.ttl }, defaultTtlSeconds);
}

/** What is wrong afterwards, each at the last change of that record set, else of that name. */
function problemsAfter(
  after: ReadonlyMap<string, RecordSet>,
  read: readonly ReadChange[],
  zone: string,
): ChangeProblem[] {
  const lastOfKey = new Map(read.map((change) => [change.key, change]));
  const lastOfName = new Map(read.map((change) => [change.recordSet.name, change]));
  const merged = [...lastOfKey].flatMap(([key, { given, index }]) => {
    const recordSet = after.get(key);
    return recordSet === undefined
      ? []
      : mergedProblems(recordSet).map((problem) => ofChange(given, index, problem));
  });
  const ofZone = zoneProblems(after.values(), new Set(lastOfName.keys()), zone).flatMap((problem) => {
    const change = lastOfKey.get(recordSetKey(problem)) ?? lastOfName.get(problem.name);
    // The name and type of the record set that has the problem: it may be another than the change's.
    return change === undefined ? [] : [{ ...problem, index: change.index }];
  });
  return [...merged, ...ofZone];
}

/** What is as before is the same object with its etag, also when it was deleted and created on the way. */
function keepWhatIsSame(
  before: ReadonlyMap<string, PresentRecordSet>,
  after: Map<string, RecordSet>,
  keys: readonly string[],
): void {
  for (const key of keys) {
    const [old, next] = [before.get(key), after.get(key)];
    if (old !== undefined && next !== undefined && isSameRecordSet(old, next)) after.set(key, old);
  }
}

function diffOf(
  before: ReadonlyMap<string, PresentRecordSet>,
  after: ReadonlyMap<string, RecordSet>,
  keys: readonly string[],
): ZoneDiff {
  const created: RecordSet[] = [];
  const changed: { before: PresentRecordSet; after: RecordSet }[] = [];
  const deleted: PresentRecordSet[] = [];
  for (const key of keys) {
    const [old, next] = [before.get(key), after.get(key)];
    if (old === undefined && next !== undefined) created.push(next);
    else if (old !== undefined && next === undefined) deleted.push(old);
    else if (old !== undefined && next !== undefined && old !== next)
      changed.push({ before: old, after: next });
  }
  return { created, changed, deleted };
}

const ofChange = (
  { name, type }: ZoneChange,
  index: number,
  problem: Problem<ChangeRule>,
): ChangeProblem => ({ ...problem, index, name, type });
