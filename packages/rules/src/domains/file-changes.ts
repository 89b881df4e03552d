import { type RecordSet, recordSetKey } from "./record-set.ts";
import type { ZoneChange } from "./zone-changes.ts";

/** `merge` keeps the record sets that the file does not have; `replace` deletes them. */
export type ImportMode = "merge" | "replace";

/**
 * The changes that make a zone what a zone file says.
 *
 * @param file the record sets of the file, as `readZoneFile` answers them
 * @param present name and type of every record set of the zone; with `merge` they are not looked at
 */
export function fileChanges(
  file: readonly RecordSet[],
  present: readonly Pick<RecordSet, "name" | "type">[],
  mode: ImportMode,
): ZoneChange[] {
  const upserts = file.map((recordSet): ZoneChange => ({ op: "upsert", ...recordSet, ifMatch: null }));
  if (mode === "merge") return upserts;
  const wanted = new Set(file.map(recordSetKey));
  const deletes = present
    .filter((recordSet) => !wanted.has(recordSetKey(recordSet)))
    .map(
      ({ name, type }): ZoneChange => ({ op: "delete", name, type, ttl: null, values: [], ifMatch: null }),
    );
  return [...deletes, ...upserts];
}
