import { isDeepStrictEqual } from "node:util";
import { operations } from "@kule/contract/generated/operations";
import type { ReferenceKind } from "@kule/testing/contract/reference-places";
import type { Findings } from "./isolation-answers.ts";
import { runIsolationMatrix } from "./isolation-matrix.ts";
import { type Actor, actorsOf } from "./matrix-actors.ts";
import type { ObjectState } from "./matrix-objects.ts";
import { type Defences, openMutantApp } from "./mutant-app.ts";
import { rowsOfOrganisation } from "./rows-of-organisation.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

/** Of about 70; fewer mean that mutations end before they reach the tables of the other organisation. */
const LEAST_STRIPPED = 40;

/** The filter in each query alone: the isolation matrix must pass without row-level security. */
export async function filtersAlone(
  all: TwoOrganisations,
  actorNames: RegExp,
  state: (state: ObjectState) => boolean,
): Promise<Findings> {
  return withDefences(all, { filters: true, rowLevelSecurity: false }, actorNames, async (actors) => {
    const { cellsRun, failures } = await runIsolationMatrix(all, { actors, state });
    return {
      cases: cellsRun,
      violations: failures.map((failure) => `without row-level security: ${failure}`),
    };
  });
}

/** Row-level security alone: without any filter no mutation may change a row of the other organisation. */
export async function rowLevelSecurityAlone(all: TwoOrganisations): Promise<Findings> {
  const defences = { filters: false, rowLevelSecurity: true };
  const violations: string[] = [];
  let cases = 0;
  for (const [name, victim] of [
    ["admin of A", all.b],
    ["admin of B", all.a],
  ] as const)
    await withDefences(all, defences, new RegExp(`^${name}$`), async (actors, stripped) => {
      for (const { side, caller } of actors) {
        // Calls that fail whatever they name would leave the other organisation as it was, too.
        const { status } = await caller.post("/ssh-keys", side.tenant.sshKeyBody());
        if (status !== 201) violations.push(`without any filter, ${name} cannot create a key: ${status}`);
      }
      const look = () => rowsOfOrganisation(all.world.database.ownerUrl, victim.tenant.id);
      const before = await look();
      const { cellsRun } = await runIsolationMatrix(all, {
        actors,
        // The table of tokens holds rows of no organisation too and is under the first line only.
        place: (place) => operations[place.operation].audit !== null && place.kind !== "token",
        state: (state) => state.name.startsWith("foreign"),
      });
      cases += cellsRun;
      const after = await look();
      for (const [table, rows] of before)
        if (!isDeepStrictEqual(rows, after.get(table)))
          violations.push(`without any filter, ${name} changed rows of the other organisation in ${table}`);
      if (stripped() < LEAST_STRIPPED)
        violations.push(`only ${stripped()} queries of transactions lost their filter`);
    });
  return { cases, violations };
}

const ownedKinds: readonly ReferenceKind[] = [
  "member",
  "token",
  "ssh_key",
  "network",
  "subnet",
  "server",
  "job",
  "resource",
];

/**
 * Neither line: the matrix must find every kind of resource open, or its silence proves nothing. It lets the
 * organisations change each other, so it runs last.
 */
export async function neitherLine(all: TwoOrganisations): Promise<Findings> {
  const defences = { filters: false, rowLevelSecurity: false };
  return withDefences(all, defences, /^(admin|viewer) of A$/, async (actors) => {
    const report = await runIsolationMatrix(all, {
      actors,
      state: (state) => state.name.startsWith("foreign"),
    });
    const missed = ownedKinds.filter((kind) => !report.failedKinds.has(kind));
    return {
      cases: report.cellsRun,
      violations: missed.map((kind) => `the matrix does not notice that every ${kind} is open`),
    };
  });
}

async function withDefences<Result>(
  all: TwoOrganisations,
  defences: Defences,
  names: RegExp,
  work: (actors: readonly Actor[], stripped: () => number) => Promise<Result>,
): Promise<Result> {
  const mutant = await openMutantApp(all.world, defences);
  try {
    const actors = actorsOf(all)
      .filter(({ name }) => names.test(name))
      .map((actor): Actor => ({ ...actor, caller: actor.caller.at(mutant.app) }));
    return await work(actors, mutant.stripped);
  } finally {
    await mutant.close();
  }
}
