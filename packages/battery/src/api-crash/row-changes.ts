import { type Snapshot, tablesOfAmounts } from "./table-snapshot.ts";

type Row = Readonly<Record<string, unknown>>;

/**
 * The changes between two snapshots, one line for each row that was added, removed or changed, sorted. Two
 * runs of the same request have the same lines: what differs from run to run (ids, times, names, numbers,
 * secrets) is masked, and a changed number is listed as its difference.
 */
export function changesBetween(
  before: Snapshot,
  after: Snapshot,
  isWatched: (table: string) => boolean = () => true,
): string[] {
  const lines: string[] = [];
  for (const table of new Set([...before.keys(), ...after.keys()])) {
    const first = lines.length;
    if (!isWatched(table)) continue;
    const old = before.get(table) ?? new Map<string, Row>();
    const now = after.get(table) ?? new Map<string, Row>();
    if (tablesOfAmounts.has(table)) {
      lines.push(...changedAmounts(table, old, now));
      continue;
    }
    for (const [key, row] of now) {
      const was = old.get(key);
      if (was === undefined) lines.push(`${table} + ${JSON.stringify(maskedRow(row))}`);
      else if (JSON.stringify(was) !== JSON.stringify(row))
        lines.push(`${table} * ${JSON.stringify(changedColumns(was, row))}`);
    }
    for (const [key, row] of old)
      if (!now.has(key)) lines.push(`${table} - ${JSON.stringify(maskedRow(row))}`);
    if (ofEachRegion.has(table))
      lines.splice(first, Infinity, ...new Set(lines.slice(first).map(withoutRegion)));
  }
  return lines.sort();
}

/** These have a row for each region, and other cases add regions: alike, they count once. */
const ofEachRegion: ReadonlySet<string> = new Set(["agent_rollout_region"]);
const withoutRegion = (line: string): string => line.replace(/"region":"[^"]*",?/, "");

type Rows = ReadonlyMap<string, Row>;

/** By how much each amount changed: one that is there for the first time, or not any more, as any other one. */
function changedAmounts(table: string, old: Rows, now: Rows): string[] {
  const amountOf = (rows: Rows, key: string) => Number(rows.get(key)?.amount ?? 0);
  return [...new Map([...old, ...now])].flatMap(([key, { amount: _, ...of }]) => {
    const more = amountOf(now, key) - amountOf(old, key);
    return more === 0 ? [] : [`${table} ${signed(more)} ${JSON.stringify(maskedRow(of))}`];
  });
}

function signed(difference: number): string {
  return `${difference > 0 ? "+" : ""}${difference}`;
}

/** Columns whose values are the point, and the same in every run. */
const kept = new Set(["status", "http_status", "state", "kind"]);
const secret = /hash|secret|password|salt|public_key|fingerprint|sealed|details/;

function maskedRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, maskedColumn(name, value)]));
}

function changedColumns(was: Row, is: Row): Row {
  return Object.fromEntries(
    Object.entries(is)
      .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(was[name]))
      .map(([name, value]) => [name, change(name, was[name], value)]),
  );
}

/** Numbers that depend on the time of the request. */
const countsTime = new Set(["last_period"]);

function change(name: string, was: unknown, is: unknown): unknown {
  if (countsTime.has(name)) return "<time>";
  if (typeof was === "number" && typeof is === "number") return signed(is - was);
  return [maskedColumn(name, was), maskedColumn(name, is)];
}

function maskedColumn(name: string, value: unknown): unknown {
  if (kept.has(name)) return value;
  if (unlike.has(name)) return value == null ? value : `<${name}>`;
  return secret.test(name) ? maskedSecret(value) : masked(value);
}

function maskedSecret(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value == null ? value : "…";
  return Object.fromEntries(Object.keys(value).map((name) => [name, "…"]));
}

/** Drawn at random, of letters too; and all regions, to which other cases add some. */
const unlike = new Set(["serial", "label", "regions"]);

/** The value without what differs between two runs of the same request. */
export function masked(value: unknown): unknown {
  if (typeof value === "number") return "#";
  if (typeof value === "string") return maskedText(value);
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, each]) => [name, unlike.has(name) && each !== null ? `<${name}>` : masked(each)]),
    );
  return value;
}

function maskedText(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d(:\d\d)?)/g, "<time>")
    .replaceAll(/\b([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}\b/g, "$1_")
    .replaceAll(/\b[0-7][0-9a-hjkmnp-tv-z]{25}\b/g, "<id>")
    .replaceAll(/\b([0-9a-f]{2}:){5,}[0-9a-f]{2}\b/g, "<mac>")
    .replaceAll(/[A-Za-z0-9+/=_.-]{24,}/g, "<long>")
    .replaceAll(/\d+/g, "#");
}
