import { referencedServer } from "./address-values.ts";
import { inField, type Problem, ProblemList, type Problems } from "./problem.ts";
import { type RecordNameRule, readRecordName } from "./record-name.ts";
import { type RecordType, type RecordTypeRule, readRecordType } from "./record-types.ts";
import { readValue, type ValueRule } from "./record-value.ts";

/** All records of one name and type: what the DNS calls an RRset. */
export type RecordSet = {
  /** Relative to the zone: `@`, `www`, `*.dev`. */
  readonly name: string;
  readonly type: RecordType;
  /** In seconds. */
  readonly ttl: number;
  /** Canonical texts, each once. Their order has no meaning. */
  readonly values: readonly string[];
};

/** A record set as a request has it. */
export type RecordSetRequest = {
  readonly name: string;
  readonly type: string;
  /** In seconds; null: the domain's default. */
  readonly ttl: number | null;
  readonly values: readonly string[];
};

/** What of a domain is needed to read its record sets. */
export type Zone = {
  /** Canonical. */
  readonly name: string;
  /** In seconds. */
  readonly defaultTtlSeconds: number;
};

export type ValuesRule =
  | "no_values"
  | "too_many_values"
  | "duplicate_value"
  | "server_reference_not_alone"
  | "null_mx_not_alone";
export type RecordSetRule = RecordNameRule | RecordTypeRule | "ttl_range" | ValueRule | ValuesRule;

export type RecordSetReading =
  | { readonly ok: true; readonly recordSet: RecordSet }
  | ({ readonly ok: false } & Problems<Problem<RecordSetRule>>);

export const minTtlSeconds = 60;
export const maxTtlSeconds = 604_800;
export const defaultTtlSeconds = 3_600;
export const maxValues = 100;

/** A text that is the same for two record sets if they have the same name and type. */
export const recordSetKey = ({ name, type }: { readonly name: string; readonly type: string }): string =>
  `${name} ${type}`;

/**
 * Reads a record set of a request into its canonical form.
 *
 * @returns all problems when there is one, with the fields `name`, `type`, `ttl`, `values` and `values[2]`
 */
export function readRecordSet(request: RecordSetRequest, zone: Zone): RecordSetReading {
  const problems = new ProblemList<Problem<RecordSetRule>>();
  const name = readRecordName(request.name, zone.name);
  if (!name.ok) problems.add(name.problem);
  const type = readRecordType(request.type);
  if (!type.ok) problems.add(inField("type", type.flaw));
  const ttl = request.ttl ?? zone.defaultTtlSeconds;
  problems.add(...ttlProblems(ttl));
  const values = readValues(request.values, type.ok ? type.value : null, zone.name, problems);
  if (!problems.isEmpty || !name.ok || !type.ok) return problems.refusal();
  return { ok: true, recordSet: { name: name.name, type: type.value, ttl, values } };
}

/** @param type null: it is not known, so the values cannot be read */
function readValues(
  texts: readonly string[],
  type: RecordType | null,
  zone: string,
  problems: ProblemList<Problem<RecordSetRule>>,
): string[] {
  const counted = countProblems(texts);
  problems.add(...counted);
  if (type === null || counted.length > 0) return [];
  const values = new Set<string>();
  for (const [index, text] of texts.entries()) {
    const field = `values[${index}]`;
    const value = readValue(type, text, zone);
    if (!value.ok) problems.add(inField(field, value.flaw));
    else if (values.has(value.value)) problems.add(duplicate(field));
    else values.add(value.value);
  }
  problems.add(...referenceProblems([...values]), ...nullMxProblems(type, [...values]));
  return [...values];
}

export function ttlProblems(ttl: number): Problem<"ttl_range">[] {
  if (Number.isInteger(ttl) && ttl >= minTtlSeconds && ttl <= maxTtlSeconds) return [];
  return [
    {
      rule: "ttl_range",
      field: "ttl",
      message: `The TTL is ${ttl} s`,
      fix: `Enter a TTL from ${minTtlSeconds} to ${maxTtlSeconds} s`,
    },
  ];
}

function countProblems(values: readonly string[]): Problem<ValuesRule>[] {
  if (values.length === 0)
    return [
      {
        rule: "no_values",
        field: "values",
        message: "The record set has no value",
        fix: "Enter a value, or delete the record set",
      },
    ];
  return tooManyProblems(values);
}

function tooManyProblems(values: readonly string[]): Problem<ValuesRule>[] {
  if (values.length <= maxValues) return [];
  return [
    {
      rule: "too_many_values",
      field: "values",
      message: `The record set has ${values.length} values`,
      fix: `Enter at most ${maxValues} values`,
    },
  ];
}

const duplicate = (field: string): Problem<ValuesRule> => ({
  rule: "duplicate_value",
  field,
  message: "This value is in the record set already",
  fix: "Leave out one of the two",
});

function referenceProblems(values: readonly string[]): Problem<ValuesRule>[] {
  const index = values.findIndex((value) => referencedServer(value) !== null);
  if (index < 0 || values.length === 1) return [];
  return [
    {
      rule: "server_reference_not_alone",
      field: "values",
      message: `${values[index]} stands for all addresses of its record set`,
      fix: "Leave out the other values, or enter the addresses of the server instead",
    },
  ];
}

/** `0 .` says that the name takes no mail (RFC 7505), which another mail server contradicts. */
function nullMxProblems(type: RecordType, values: readonly string[]): Problem<ValuesRule>[] {
  if (type !== "MX" || values.length === 1 || !values.includes("0 .")) return [];
  return [
    {
      rule: "null_mx_not_alone",
      field: "values",
      message: "The value 0 . says that there is no mail server, and there are others",
      fix: "Leave out either 0 . or the others",
    },
  ];
}

/** What is wrong with the values of a record set that was merged from two: their number and what is beside what. */
export function mergedProblems({ type, values }: RecordSet): Problem<ValuesRule>[] {
  return [...tooManyProblems(values), ...referenceProblems(values), ...nullMxProblems(type, values)];
}

/** True if the two say the same; the order of values has no meaning. */
export function isSameRecordSet(one: RecordSet, other: RecordSet): boolean {
  return (
    recordSetKey(one) === recordSetKey(other) &&
    one.ttl === other.ttl &&
    isSameValues(one.values, other.values)
  );
}

/** True if the two lists have the same texts, in whatever order and however often. */
export function isSameValues(one: readonly string[], other: readonly string[]): boolean {
  const [left, right] = [new Set(one), new Set(other)];
  return left.size === right.size && other.every((value) => left.has(value));
}

/** Values that are to be in a record set, or not to be in it, whatever else it has. */
export type ValuesChange = {
  readonly op: "add" | "remove";
  /** Canonical. */
  readonly values: readonly string[];
  /** The new TTL in seconds; null keeps the present one. */
  readonly ttl: number | null;
};

/**
 * Adds values to a record set or removes them. To add what is there and to remove what is not there changes
 * nothing, so a client may repeat a call.
 *
 * @param present null: there is no such record set yet
 * @returns the record set, or null when it has no values left; check it with `mergedProblems`
 */
export function mergeValues(
  key: Pick<RecordSet, "name" | "type">,
  present: RecordSet | null,
  change: ValuesChange,
  defaultTtlSeconds: number,
): RecordSet | null {
  const before = present?.values ?? [];
  const given = new Set(change.values);
  const values =
    change.op === "add" ? [...new Set([...before, ...given])] : before.filter((value) => !given.has(value));
  if (values.length === 0) return null;
  return { name: key.name, type: key.type, ttl: change.ttl ?? present?.ttl ?? defaultTtlSeconds, values };
}
