import { describe, expect, test } from "vitest";
import { fileChanges } from "./file-changes.ts";
import { readZoneFile } from "./read-zone-file.ts";
import { exampleZone } from "./testing/sample-record-sets.ts";
import { applyZoneChanges, type PresentRecordSet } from "./zone-changes.ts";

const present: PresentRecordSet[] = [
  { name: "www", type: "A", ttl: 300, values: ["192.0.2.1"], etag: '"r1"' },
  { name: "old", type: "CNAME", ttl: 300, values: ["www.example.com."], etag: '"r1"' },
];

function imported(text: string, mode: "merge" | "replace") {
  const file = readZoneFile(text, exampleZone);
  if (!file.ok) throw new Error(JSON.stringify(file.problems));
  const decision = applyZoneChanges(present, fileChanges(file.recordSets, present, mode), exampleZone);
  if (!decision.ok) throw new Error(JSON.stringify(decision.problems));
  return {
    names: decision.recordSets.map(({ name, type }) => `${name} ${type}`).sort(),
    deleted: decision.diff.deleted.map(({ name }) => name),
  };
}

describe("the changes of a zone file", () => {
  const text = "www 300 IN A 192.0.2.1\nold 300 IN A 192.0.2.2\nnew 300 IN TXT hello\n";

  test("with mode replace delete what the file does not have", () => {
    expect(imported(text, "replace")).toEqual({ names: ["new TXT", "old A", "www A"], deleted: ["old"] });
  });

  test("with mode merge keep it, so that a CNAME beside a new record set is a problem", () => {
    expect(() => imported(text, "merge")).toThrow("cname_beside_others");
    expect(imported("new 300 IN TXT hello\n", "merge")).toEqual({
      names: ["new TXT", "old CNAME", "www A"],
      deleted: [],
    });
  });
});
