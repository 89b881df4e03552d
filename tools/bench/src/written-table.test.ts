import { expect, test } from "vitest";
import { withTable } from "./written-table.ts";

const row = { what: "a create", ours: "6", floor: "–", ratio: "–", aim: "≤ 8", reached: true };

test("a run replaces the last one with as many replicas, and leaves the others", () => {
  const first = withTable("# Bench\n\nText.\n", 1, "Commit a.", [row]);
  expect(first).toBe(
    "# Bench\n\nText.\n\n### One API\n\nCommit a.\n\n| | what | Kule | compared with | ratio | aim |\n|---|---|---|---|---|---|\n| ✓ | a create | 6 | – | – | ≤ 8 |\n",
  );
  const both = withTable(first, 2, "Commit b.", [{ ...row, reached: false }]);
  expect(both).toContain("### One API\n\nCommit a.");
  expect(both).toContain("### 2 replicas of the API\n\nCommit b.");
  expect(both).toContain("| ✗ | a create");
  const again = withTable(both, 1, "Commit c.", [{ ...row, reached: null }]);
  expect(again).not.toContain("Commit a.");
  expect(again.indexOf("Commit c.")).toBeLessThan(again.indexOf("Commit b."));
  expect(again).toContain("|  | a create");
  expect(withTable(again, 1, "Commit c.", [{ ...row, reached: null }])).toBe(again);
});
