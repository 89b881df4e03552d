import { nameFlaw, toAscii } from "./name-labels.ts";
import { type Flaw, inField, type Problem, ProblemList, type Problems, shown } from "./problem.ts";
import { apexName, type RecordNameRule, readRecordName } from "./record-name.ts";
import type { RecordSet, ValuesRule, Zone } from "./record-set.ts";
import { type RecordTypeRule, readRecordType } from "./record-types.ts";
import { readValue, type ValueRule } from "./record-value.ts";
import { type Entry, zoneFileEntries } from "./zone-file.ts";
import {
  type DirectiveRule,
  defectFlaw,
  type RecordLine,
  type RecordLineRule,
  readDirective,
  readRecordLine,
  valueText,
  withOrigin,
} from "./zone-file-line.ts";
import { FileRecordSets } from "./zone-file-sets.ts";
import type { ZoneRule } from "./zone-rules.ts";

export type ZoneFileRule =
  | RecordLineRule
  | DirectiveRule
  | RecordNameRule
  | RecordTypeRule
  | ValueRule
  | ValuesRule
  | ZoneRule
  | "ttl_range"
  | "ttl_differs"
  | "no_owner"
  | "file_too_large"
  | "too_many_records";

/** A problem of a line. Its field is the part of the line: `name`, `ttl`, `type`, `values`, or `line`. */
export type ZoneFileProblem = Problem<ZoneFileRule> & {
  /** From 1. */
  readonly line: number;
  /** Relative, and canonical; null when it is not known. */
  readonly name: string | null;
  readonly type: string | null;
};

/** A record that was read and is not among the record sets: Kule writes it itself. */
export type LeftOut = { readonly line: number; readonly type: "SOA" | "NS" };

export type ZoneFileReading =
  | { readonly ok: true; readonly recordSets: readonly RecordSet[]; readonly leftOut: readonly LeftOut[] }
  | ({ readonly ok: false } & Problems<ZoneFileProblem>);

/** In UTF-16 units. */
export const maxZoneFileLength = 1_048_576;
export const maxZoneFileRecords = 10_000;

/**
 * Reads a zone file (RFC 1035, section 5) into record sets in their canonical form. SOA and the NS records of the
 * apex are left out. The same record twice is one.
 *
 * @returns the record sets in the order of the file, or the problems of all lines and of the record sets together
 */
export function readZoneFile(text: string, zone: Zone): ZoneFileReading {
  const file = new FileReader(zone);
  if (text.length > maxZoneFileLength)
    return file.refuseWhole({
      rule: "file_too_large",
      message: `The zone file has ${text.length} characters`,
      fix: `Divide it into files of at most ${maxZoneFileLength} characters`,
    });
  for (const entry of zoneFileEntries(text.replace(/^\ufeff/, ""))) {
    file.read(entry);
    if (file.isFull) break;
  }
  return file.result();
}

class FileReader {
  readonly #zone: Zone;
  readonly #problems = new ProblemList<ZoneFileProblem>();
  readonly #sets = new FileRecordSets();
  readonly #leftOut: LeftOut[] = [];
  #records = 0;
  /** Without its final dot; empty: the root. */
  #origin: string;
  #directiveTtl: number | null = null;
  #lastTtl: number | null = null;
  /** Undefined: there was no record yet. Null: its owner was refused, which is said once. */
  #owner: string | null | undefined;

  constructor(zone: Zone) {
    this.#zone = zone;
    this.#origin = zone.name;
  }

  get isFull(): boolean {
    return this.#records > maxZoneFileRecords;
  }

  read(entry: Entry): void {
    const first = entry.tokens[0];
    if (entry.defect !== null) {
      this.#refuse(entry.line, inField("line", defectFlaw(entry.defect)));
      // The records that inherit from this line would be refused for what is wrong with it.
      if (!entry.inheritsOwner) this.#owner = null;
    } else if (first?.text.startsWith("$") && !first.isQuoted && !entry.inheritsOwner) {
      this.#readDirective(entry);
      return;
    } else this.#readRecord(entry);
    this.#records += 1;
    if (this.isFull)
      this.#refuse(entry.line, {
        rule: "too_many_records",
        field: "line",
        message: `The zone file has more than ${maxZoneFileRecords} records`,
        fix: "Divide it into several files",
      });
  }

  #readDirective({ line, tokens }: Entry): void {
    const directive = readDirective(tokens);
    if (!directive.ok) this.#refuse(line, inField("line", directive.flaw));
    else if (directive.value.kind === "ttl") this.#directiveTtl = directive.value.seconds;
    else this.#setOrigin(line, directive.value.text);
  }

  #setOrigin(line: number, text: string): void {
    const absolute = withOrigin(text, this.#origin);
    const origin = toAscii(absolute)?.slice(0, -1) ?? null;
    const flaw = originFlaw(text, origin);
    if (flaw !== null) this.#refuse(line, inField("line", flaw));
    else this.#origin = origin ?? "";
  }

  #readRecord(entry: Entry): void {
    const reading = readRecordLine(entry);
    const owner = this.#readOwner(entry);
    if (!reading.ok) {
      this.#refuse(entry.line, inField("line", reading.flaw), owner);
      return;
    }
    const ttl = reading.value.ttl ?? this.#directiveTtl ?? this.#lastTtl ?? this.#zone.defaultTtlSeconds;
    this.#lastTtl = reading.value.ttl ?? this.#lastTtl;
    if (owner !== null) this.#readData(entry.line, owner, ttl, reading.value);
  }

  /** The relative name of the record; null when it is not in the zone, which is said. */
  #readOwner({ line, inheritsOwner, tokens }: Entry): string | null {
    if (inheritsOwner) {
      if (this.#owner === undefined)
        this.#refuse(line, {
          rule: "no_owner",
          field: "name",
          message: "The line begins with a blank and there is no record before it whose name it could have",
          fix: "Begin the line with a name, or with @",
        });
      this.#owner ??= null;
      return this.#owner;
    }
    const reading = readRecordName(withOrigin(tokens[0]?.text ?? "", this.#origin), this.#zone.name);
    if (!reading.ok) this.#refuse(line, reading.problem);
    this.#owner = reading.ok ? reading.name : null;
    return this.#owner;
  }

  #readData(line: number, name: string, ttl: number, { type: typeText, data }: RecordLine): void {
    const typeWord = typeText.slice(0, 20).toUpperCase();
    if (name === apexName && (typeWord === "SOA" || typeWord === "NS")) {
      this.#leftOut.push({ line, type: typeWord });
      return;
    }
    const type = readRecordType(typeText);
    if (!type.ok) {
      this.#refuse(line, inField("type", type.flaw), name, typeWord);
      return;
    }
    const value = readValue(type.value, valueText(type.value, data, this.#origin), this.#zone.name);
    if (!value.ok) {
      this.#refuse(line, inField("values", value.flaw), name, typeWord);
      return;
    }
    for (const problem of this.#sets.add(line, { name, type: type.value, ttl, value: value.value }))
      this.#refuse(line, problem, name, typeWord);
  }

  result(): ZoneFileReading {
    this.#problems.add(...this.#sets.problems(this.#zone.name));
    if (!this.#problems.isEmpty) return this.#problems.refusal();
    return { ok: true, recordSets: this.#sets.recordSets(), leftOut: this.#leftOut };
  }

  refuseWhole(flaw: Flaw<ZoneFileRule>): ZoneFileReading {
    this.#refuse(1, inField("line", flaw));
    return this.#problems.refusal();
  }

  #refuse(
    line: number,
    problem: Problem<ZoneFileRule>,
    name: string | null = null,
    type: string | null = null,
  ) {
    this.#problems.add({ ...problem, line, name, type });
  }
}

/** @param origin without its final dot; empty: the root; null: the text has no form in ASCII */
function originFlaw(text: string, origin: string | null): Flaw<ZoneFileRule> | null {
  if (origin === null)
    return {
      rule: "origin",
      message: `${shown(text)} is not a name`,
      fix: "Enter a name such as example.com.",
    };
  return origin === "" ? null : nameFlaw(origin, "record");
}
