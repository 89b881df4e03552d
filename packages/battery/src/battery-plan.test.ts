import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { applyPatch } from "@kule/build/source-patch";
import { beforeAll, describe, expect, it } from "vitest";
import { PLANNED_ROWS } from "./battery-plan.ts";
import { loadRows } from "./load-rows.ts";
import type { Row } from "./row.ts";

const root = resolve(import.meta.dirname, "../../..");
let rows: Row[];
beforeAll(async () => {
  rows = await loadRows();
});

describe("the battery", () => {
  it("has every row of the plan, and none that is not in it", () => {
    expect(rows.map(({ id }) => id).sort()).toEqual([...PLANNED_ROWS].sort());
  });

  it("has a mutant for each row, with names of their own", () => {
    for (const { id, mutants } of rows) {
      expect(mutants.length, id).toBeGreaterThan(0);
      expect(new Set(mutants.map(({ name }) => name)).size, id).toBe(mutants.length);
      for (const { patches, name } of mutants) expect(patches.length, `${id} ${name}`).toBeGreaterThan(0);
    }
  });

  it("has only mutants that change the present source", () => {
    for (const { id, mutants } of rows)
      for (const { name, patches } of mutants) {
        const sources = new Map<string, string>();
        for (const patch of patches) {
          const path = resolve(root, patch.file);
          expect(existsSync(path), `${id} ${name}: ${patch.file}`).toBe(true);
          const before = sources.get(patch.file) ?? readFileSync(path, "utf8");
          const after = applyPatch(before, patch);
          expect(after, `${id} ${name}`).not.toBe(before);
          sources.set(patch.file, after);
        }
      }
  });

  it("takes defences from the product, never from what tests it", () => {
    for (const { id, mutants } of rows)
      for (const { name, patches } of mutants)
        for (const { file } of patches)
          expect(file, `${id} ${name}`).not.toMatch(/testing|battery|\.test\.|packages\/lab/);
  });
});
