import type { Problem } from "./problem.ts";
import { mergedProblems, type RecordSet, recordSetKey, ttlProblems, type ValuesRule } from "./record-set.ts";
import type { RecordType } from "./record-types.ts";
import { type ZoneRule, zoneProblems } from "./zone-rules.ts";

/** A record of a file, with its one value apart. */
export type FileRecord = Omit<RecordSet, "values"> & { readonly value: string };

/** A problem of several records together, at the line of the first one. */
export type TogetherProblem = Problem<ValuesRule | ZoneRule> & {
  readonly line: number;
  readonly name: string;
  readonly type: RecordType;
};

/** A record set while its records are read. */
type Growing = {
  readonly line: number;
  readonly base: Omit<RecordSet, "values">;
  readonly values: Set<string>;
};

/** Puts the records of a file together: those of one name and type are one record set. */
export class FileRecordSets {
  readonly #growing = new Map<string, Growing>();

  /** @returns what is wrong with the TTL; the record is taken nevertheless */
  add(line: number, { value, ...base }: FileRecord): Problem<"ttl_range" | "ttl_differs">[] {
    const known = this.#growing.get(recordSetKey(base));
    if (known === undefined) {
      this.#growing.set(recordSetKey(base), { line, base, values: new Set([value]) });
      return ttlProblems(base.ttl);
    }
    known.values.add(value);
    if (known.base.ttl === base.ttl) return [];
    const first = `the first ${base.type} record of ${base.name}, in line ${known.line}, has ${known.base.ttl} s`;
    return [
      {
        rule: "ttl_differs",
        field: "ttl",
        message: `The TTL is ${base.ttl} s; ${first}`,
        fix: "Use one TTL for all records of one name and type",
      },
    ];
  }

  /** In the order of the file. */
  recordSets(): RecordSet[] {
    return [...this.#growing.values()].map(({ base, values }) => ({ ...base, values: [...values] }));
  }

  /** What is wrong with the record sets as wholes and with one beside another. */
  problems(zone: string): TogetherProblem[] {
    const recordSets = this.recordSets();
    const ofSets = recordSets.flatMap((recordSet) =>
      mergedProblems(recordSet).map((problem) => ({
        ...problem,
        name: recordSet.name,
        type: recordSet.type,
      })),
    );
    const ofZone = zoneProblems(recordSets, new Set(recordSets.map(({ name }) => name)), zone);
    return [...ofSets, ...ofZone].map((problem) => ({
      ...problem,
      line: this.#growing.get(recordSetKey(problem))?.line ?? 1,
    }));
  }
}
