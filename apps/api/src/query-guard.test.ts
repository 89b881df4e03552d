import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemQueryReasons } from "./platform/database.ts";
import { tenantGuard } from "./platform/tenant-guard.ts";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { runIsolationMatrix } from "./testing/proofs/isolation-matrix.ts";
import { actorsOf } from "./testing/proofs/matrix-actors.ts";
import { systemQueries } from "./testing/proofs/system-queries.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

describe("the exemptions from the tenant guard", () => {
  it("are exactly those that are listed", () => {
    expect(exemptionsIn(import.meta.dirname)).toEqual([...systemQueries].sort());
  });

  it("go through systemQuery alone: nothing else takes plugins off", () => {
    const others = sources(import.meta.dirname).filter(
      ([file, text]) => text.includes("withoutPlugins") && file !== "platform/database.ts",
    );
    expect(others.map(([file]) => file)).toEqual([]);
  });
});

describe("every other query of every operation", () => {
  let all: TwoOrganisations;
  const guard = vi.spyOn(tenantGuard, "transformQuery");
  beforeAll(async () => {
    all = await openTwoOrganisations(destroyNow);
  });
  afterAll(() => all?.close());

  it("names the organisation", { timeout: 120_000 }, async () => {
    const report = await runIsolationMatrix(all, {
      actors: actorsOf(all).filter((actor) => /owner|operator|agent of A/.test(actor.name)),
      state: (state) => state.name === "own" || state.name === "foreign",
    });
    expect(report.failures).toEqual([]);
    const distinct = new Set(guard.mock.calls.map(([{ node }]) => JSON.stringify(shapeOf(node))));
    const reasons = systemQueryReasons();
    console.info(
      `query guard: ${guard.mock.calls.length} queries of ${distinct.size} shapes, 0 without their organisation; ` +
        `${systemQueries.length} exemptions`,
    );
    expect(guard.mock.results.filter((result) => result.type === "throw")).toEqual([]);
    expect(guard.mock.calls.length).toBeGreaterThan(2000);
    expect(distinct.size).toBeGreaterThan(50);
    const listed = new Set([
      ...systemQueries.map((entry) => entry.split(": ")[1]),
      "the test turns the clock",
    ]);
    expect(reasons.filter((reason) => !listed.has(reason))).toEqual([]);
  });
});

/** The query without its values. */
function shapeOf(node: object): unknown {
  return JSON.parse(
    JSON.stringify(node, (key, value) => (key === "value" || key === "values" ? "?" : value)),
  );
}

function exemptionsIn(root: string): string[] {
  const found = new Set<string>();
  for (const [file, text] of sources(root)) {
    if (file === "platform/database.ts" || file === "platform/tenant-guard.ts") continue;
    const calls = [...text.matchAll(/systemQuery\(\s*[\w.#]+,\s*("[^"]+"|\w+),?\s*\)/g)];
    // A call that this cannot read would be an exemption that nobody sees.
    expect(calls.length, file).toBe(text.match(/systemQuery\(/g)?.length ?? 0);
    for (const [, reason = ""] of calls) {
      const literal = reason.startsWith('"') ? reason : text.match(`const ${reason} = ("[^"]+")`)?.[1];
      found.add(`${file}: ${literal?.slice(1, -1)}`);
    }
  }
  return [...found].sort();
}

/** What ships of the API, by file. */
function sources(root: string): [file: string, text: string][] {
  return globSync("**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts") && !file.startsWith("testing/"))
    .map((file) => [file, readFileSync(path.join(root, file), "utf8")]);
}
