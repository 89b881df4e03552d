/** By what a check is read in slices: the values of a column, in the order of an index that begins with it. */
export type Key = {
  readonly table: string;
  readonly column: string;
  /** Only these rows have a value, as the index has them. */
  readonly where?: string;
  /** A slice ends with the value of this row, at the earliest; all rows of one value are in one slice. */
  readonly rows: number;
  /** Within so many days everything is read. */
  readonly days: number;
  /** Which values changed lately, of {@link recentValues}. */
  readonly recent?: "jobs" | "servers" | "subnets" | "organisations" | "metered" | "segments";
};

/** For what a constraint enforces, whose existence is checked at every pass. */
const enforced = { days: 7 } as const;

export const keys = {
  server: { table: "server", column: "id", rows: 5_000, days: 1, recent: "servers" },
  job: { table: "job", column: "id", rows: 10_000, days: 1, recent: "jobs" },
  "job, enforced": { table: "job", column: "id", rows: 10_000, ...enforced, recent: "jobs" },
  subnet: { table: "address", column: "subnet_id", rows: 5_000, days: 1, recent: "subnets" },
  region: { table: "region_vmid", column: "region", rows: 5_000, days: 1 },
  organisation: {
    ...{ table: "server", column: "organisation_id", rows: 5_000, days: 1 },
    recent: "organisations",
  },
  // Each with up to 10,000 record sets.
  domain: { table: "domain", column: "id", rows: 100, days: 1 },
  metered: { table: "usage_event", column: "resource_id", rows: 20_000, days: 1, recent: "metered" },
  "events of an organisation": {
    ...{ table: "usage_event", column: "organisation_id", rows: 20_000, days: 1 },
    recent: "organisations",
  },
  segment: { table: "usage_segment", column: "id", rows: 10_000, ...enforced, recent: "segments" },
  "event of a job": {
    ...{ table: "usage_event", column: "job_id", where: "job_id is not null", rows: 5_000, ...enforced },
    recent: "jobs",
  },
  "open segment": {
    ...{ table: "usage_segment", column: "resource_id", where: "ended_at is null", rows: 5_000, ...enforced },
    recent: "metered",
  },
  interface: { table: "address", column: "nic_id", where: "nic_id is not null", rows: 5_000, ...enforced },
  "interface of a server": {
    ...{ table: "nic", column: "server_id", rows: 5_000, ...enforced },
    recent: "servers",
  },
  "name of an organisation's server": {
    ...{ table: "server", column: "organisation_id", where: "deleted_at is null", rows: 5_000, ...enforced },
    recent: "organisations",
  },
  "region, enforced": { table: "region_vmid", column: "region", rows: 5_000, ...enforced },
} as const satisfies Record<string, Key>;

export type KeyName = keyof typeof keys;

export const keyNames = Object.keys(keys) as readonly KeyName[];

/** After `from` and up to `to`; null: from the first, to the last. */
export type Range = { readonly from: string | null; readonly to: string | null };
/** The part of the rows that is read. */
export type Part = Range | { readonly values: readonly string[] };

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** SQL: a list of texts. */
export const literals = (values: readonly string[]): string =>
  `array[${values.map(literal).join(", ")}]::text[]`;

/** SQL: whether the column's value is in the part. */
export function isWithin(column: string, part: Part): string {
  if ("values" in part) return `${column} = any (${literals(part.values)})`;
  const conditions = [
    ...(part.from === null ? [] : [`${column} > ${literal(part.from)}`]),
    ...(part.to === null ? [] : [`${column} <= ${literal(part.to)}`]),
  ];
  return conditions.length === 0 ? "true" : `(${conditions.join(" and ")})`;
}

/** A check's SQL, limited to a part of the rows. */
export const limitedTo = (sql: string, part: Part): string =>
  sql.replaceAll(/\bwithin\(([a-z_.]+)\)/g, (_whole, column: string) => isWithin(column, part));

/** All rows. */
export const everything: Range = { from: null, to: null };
