import { expect, test } from "vitest";
import { loadRows } from "./load-rows.ts";
import { mustRunAlone, tasksOf } from "./tasks.ts";

test("what is measured in real guests runs beside nothing, and so do its mutants", async () => {
  const alone = tasksOf(await loadRows(), "full").filter(mustRunAlone);
  const named = alone.map(({ row, mutant }) => `${row.id} ${mutant?.name ?? ""}`.trim());
  expect(named).toEqual(expect.arrayContaining(["A19", "G4", "G4 restarted", "G4 late-adverts"]));
  expect(named.filter((name) => name.startsWith("A19 "))).toEqual([]);
});
