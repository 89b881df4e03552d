import { requirePart } from "@kule/testing/parts";
import { describe, expect, it } from "vitest";
import { failuresOf } from "./judgement.ts";
import { loadRows } from "./load-rows.ts";
import { runRowProcess } from "./row-process.ts";

/** The same in every run of the tests: a new seed each time is the battery's business. */
const SEED = 1;
/** Several run in parallel, and those with a part at an edge take three minutes alone. */
const LIMIT_MINUTES = 8;

/** Characters of what a row has found; its whole stack belongs to it. */
const MOST_SHOWN = 4_000;

const rows = (await loadRows()).filter(({ notInSamples }) => notInSamples === undefined);
const missing = new Set<string>();
for (const { id, needs } of rows)
  if (needs !== undefined && (await requirePart(needs.part, needs.probe, import.meta.filename)).missing)
    missing.add(id);

/** A part of every row; its mutants and its full length are `npm run battery`. */
describe("the battery, in short", { timeout: LIMIT_MINUTES * 60_000 + 10_000 }, () => {
  for (const row of rows.toSorted((one, other) => other.minutes - one.minutes))
    (missing.has(row.id) ? it.skip : it.concurrent)(`${row.id}: ${row.title}`, async () => {
      const outcome = await runRowProcess({
        order: { row: row.id, seed: SEED, scale: "sample" },
        mutant: null,
        limitMinutes: LIMIT_MINUTES,
        progress: () => {},
      });
      // Its mutants are run by the battery.
      const failures = failuresOf({ id: row.id, mutants: [] }, outcome, []);
      expect(failures, failures.join("\n").slice(0, MOST_SHOWN)).toEqual(["it has no mutant"]);
    });
});
