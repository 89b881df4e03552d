import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { runIsolationMatrix } from "./testing/proofs/isolation-matrix.ts";
import { actorsOf } from "./testing/proofs/matrix-actors.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

let all: TwoOrganisations;
beforeAll(async () => {
  all = await openTwoOrganisations(destroyNow);
});
afterAll(() => all?.close());

describe("two organisations in one installation", () => {
  it("see nothing of each other, in any operation, at any place that can name a resource", {
    timeout: 300_000,
  }, async () => {
    const report = await runIsolationMatrix(all, { actors: actorsOf(all) });
    console.info(`isolation: ${report.cellsRun} of ${report.cellsInSpec} cells run`);
    expect(report.unsorted).toEqual([]);
    expect(report.failures).toEqual([]);
    expect(report.cellsRun).toBe(report.cellsInSpec);
    expect(report.cellsRun).toBeGreaterThan(5000);
  });
});
