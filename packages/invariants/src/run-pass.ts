import type { Check } from "./check.ts";
import { databaseChecks } from "./database-checks.ts";
import {
  everything,
  isWithin,
  type Key,
  type KeyName,
  keyNames,
  keys,
  limitedTo,
  literals,
  type Part,
  type Range,
} from "./keys.ts";
import { recentValues } from "./recent-values.ts";
import type { CheckResult, Queryable } from "./run-checks.ts";
import type { Violation } from "./violation.ts";

/** How far the reading of a key has come. */
export type KeyProgress = {
  /** Read up to this value in this round; null: a round begins. */
  readonly at: string | null;
  readonly round_began_at: string | null;
  /** A check of the key could not be carried out in this round, so some of its rows were not read. */
  readonly missed: boolean;
  /** When the last round that read everything began; null: there was none. */
  readonly complete_since: string | null;
};
export type Progress = Readonly<Partial<Record<KeyName, KeyProgress>>>;

/** A violation, and the value of the check's key where it is; null for a check that is always read whole. */
export type Finding = Violation & { readonly key: string | null };

export type PassResult = Omit<CheckResult, "subjects" | "count"> & {
  readonly findings: readonly Finding[];
  /** Null: not everything has been read yet. */
  readonly completeSince: string | null;
};

export type Pass = {
  readonly startedAt: string;
  readonly results: readonly PassResult[];
  readonly progress: Progress;
};

export type PassOptions = {
  readonly progress: Progress;
  /** What former passes found and is not known to be over. */
  readonly open: readonly Finding[];
  /** When the former pass began. */
  readonly lastPassAt: string | null;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  /** Called for a check that could not be carried out. Throws when no other can be either. */
  readonly onFailure: (check: Check, error: unknown) => void;
};

/** So many violations of a check are kept for each part that is read. */
const findingsPerPart = 10_000;
/** Where the former passes found something is read again at every pass, in so many places of each key. */
const placesReadAgain = 1_000;

/**
 * One pass over the checks: those without a key whole; of the others what changed lately, the places of open violations,
 * and the next slice. Every statement has a snapshot of its own, so none keeps vacuum back for longer than it takes.
 */
export async function runPass(client: Queryable, options: PassOptions): Promise<Pass> {
  const { rows } = await client.query("select now()::text as now");
  const startedAt = rows[0].now as string;
  const results = new Map<string, PassResult>();
  const read = async (check: Check, parts: readonly Part[], former: readonly Finding[]): Promise<boolean> => {
    const begunAt = performance.now();
    try {
      const found = new Map<string, Finding>(former.map((finding) => [finding.subject, finding]));
      for (const part of parts)
        for (const finding of await readPart(client, check, part, options.timeoutSeconds))
          found.set(finding.subject, finding);
      const { invariant, check: promise } = check;
      results.set(check.check, {
        ...{ invariant, check: promise, completeSince: startedAt },
        ...{ findings: [...found.values()], durationMs: performance.now() - begunAt },
      });
      return true;
    } catch (error) {
      options.onFailure(check, error);
      return false;
    }
  };

  for (const check of databaseChecks) if (check.by === undefined) await read(check, [everything], []);
  const since = options.lastPassAt;
  const recent = await snapshot(client, options.timeoutSeconds, true, () => recentValues(client, since));
  const progress: Partial<Record<KeyName, KeyProgress>> = {};
  for (const name of keyNames) {
    const checks = databaseChecks.filter(({ by }) => by === name);
    const range = await nextRange(client, name, options);
    const open = options.open.filter(({ check }) => checks.some((each) => each.check === check));
    const places = [...new Set(open.flatMap(({ key }) => key ?? []))].slice(0, placesReadAgain);
    const { recent: kind }: Key = keys[name];
    const values = [...new Set([...places, ...(kind === undefined ? [] : recent[kind])])];
    const isWhole = range.from === null && range.to === null;
    const parts = isWhole || values.length === 0 ? [range] : [{ values }, range];
    // Of more open violations than are read again, those of this slice are.
    const readAgain = new Set(
      isWhole ? [] : [...values, ...(await valuesWithin(client, open, new Set(values), range))],
    );
    let isMissed = false;
    for (const check of checks) {
      const former = isWhole
        ? []
        : open.filter((finding) => finding.check === check.check && !readAgain.has(finding.key ?? ""));
      isMissed = !(await read(check, parts, former)) || isMissed;
    }
    const next = progressOf(options.progress[name], range, startedAt, isMissed);
    progress[name] = next;
    for (const { check } of checks) {
      const result = results.get(check);
      if (result !== undefined) results.set(check, { ...result, completeSince: next.complete_since });
    }
  }
  const inOrder = databaseChecks.flatMap(({ check }) => results.get(check) ?? []);
  return { startedAt, results: inOrder, progress };
}

function progressOf(
  former: KeyProgress | undefined,
  { from, to }: Range,
  startedAt: string,
  isMissed: boolean,
): KeyProgress {
  const isFirst = from === null;
  const round_began_at = isFirst ? startedAt : (former?.round_began_at ?? startedAt);
  const missed = isMissed || (!isFirst && former?.missed === true);
  const last = former?.complete_since ?? null;
  return to === null
    ? { at: null, round_began_at: null, missed: false, complete_since: missed ? last : round_began_at }
    : { at: to, round_began_at, missed, complete_since: last };
}

/** From where the last pass ended, so many rows that everything is read in time. */
async function nextRange(
  client: Queryable,
  name: KeyName,
  { progress, intervalSeconds, timeoutSeconds }: PassOptions,
): Promise<Range> {
  const key: Key = keys[name];
  const from = progress[name]?.at ?? null;
  const where = key.where === undefined ? "" : ` and ${key.where}`;
  return snapshot(client, timeoutSeconds, true, async () => {
    // The planner's estimate, also of a partitioned table; -1 before the first count.
    const { rows: sizes } = await client.query(
      `select coalesce(sum(greatest(c.reltuples, 0)), 0)::float8 as estimate
         from pg_partition_tree('${key.table}'::regclass) t join pg_class c on c.oid = t.relid where t.isleaf`,
    );
    const passes = Math.max(1, Math.floor((key.days * 86_400) / intervalSeconds));
    const limit = Math.max(key.rows, Math.ceil((1.1 * sizes[0].estimate) / passes));
    const { rows } = await client.query(
      `select max(value)::text as last, count(*)::integer as n
         from (select ${key.column} as value from ${key.table}
                where ${isWithin(key.column, { from, to: null })}${where} order by ${key.column} limit ${limit}) next`,
    );
    return { from, to: rows[0].n < limit ? null : (rows[0].last as string) };
  });
}

/** Which of the violations' places that are not read again anyhow are in the range. */
async function valuesWithin(
  client: Queryable,
  open: readonly Finding[],
  values: ReadonlySet<string>,
  range: Range,
): Promise<string[]> {
  const others = open.flatMap(({ key }) => (key === null || values.has(key) ? [] : [key]));
  if (others.length === 0) return [];
  const { rows } = await client.query(
    `select value from unnest(${literals(others)}) value where ${isWithin("value", range)}`,
  );
  return rows.map(({ value }) => value as string);
}

async function readPart(
  client: Queryable,
  check: Check,
  part: Part,
  timeoutSeconds: number,
): Promise<Finding[]> {
  const isAll = "from" in part && part.from === null && part.to === null;
  const key = check.by === undefined ? "null::text as key" : "min(key) as key";
  const { rows } = await snapshot(client, timeoutSeconds, !isAll, () =>
    client.query(
      `select subject, ${key} from (${limitedTo(check.sql, part)}) found group by subject order by subject limit ${findingsPerPart}`,
    ),
  );
  const { invariant, check: promise } = check;
  return rows.map((row) => ({
    invariant,
    check: promise,
    subject: row.subject as string,
    key: row.key as string | null,
  }));
}

/**
 * Settings that make the planner read no more than the part, whatever it expects of the range: no table from its begin to
 * its end, and no index from its begin for a merge.
 */
const byIndexes =
  "; set local enable_seqscan = off; set local enable_mergejoin = off; set local random_page_cost = 1";

/** @param byIndex the part is small */
async function snapshot<Result>(
  client: Queryable,
  timeoutSeconds: number,
  byIndex: boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  await client.query("begin isolation level repeatable read read only");
  try {
    await client.query(`set local statement_timeout = '${timeoutSeconds}s'${byIndex ? byIndexes : ""}`);
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    // A broken connection has no transaction to end.
    await client.query("rollback").catch(() => {});
    throw error;
  }
}
