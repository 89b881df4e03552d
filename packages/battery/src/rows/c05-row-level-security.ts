import { ApiWorld } from "@kule/api/testing/api-world";
import { actingConnections } from "@kule/api/testing/proofs/acting-connections";
import pg from "pg";
import type { Row, RowResult } from "../row.ts";
import { auditCatalogue } from "../tenancy/catalogue-audit.ts";
import { fillEveryTable } from "../tenancy/every-table.ts";
import { probeTables } from "../tenancy/row-level-security.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

export const row: Row = {
  id: "C5",
  title: "Row-level security is on for every table of organisations, and cannot be bypassed.",
  minutes: 0.1,
  mutants: [
    {
      name: "not-forced",
      removes: "row-level security for the tables' owner",
      patches: [
        {
          file: "packages/database/src/migrations/tenant-isolation.ts",
          find: " force row level security;",
          replace: " no force row level security;",
        },
      ],
      expects: /^nic does not force row-level security/,
    },
    {
      name: "policy-without-check",
      removes: "the WITH CHECK of a policy",
      patches: [
        {
          file: "packages/database/src/migrations/tenant-isolation.ts",
          find: "  with check (",
          replace: "  with check (true or ",
        },
      ],
      expects: /a row for others could be written into ssh_key/,
    },
    {
      name: "organisation-of-the-session",
      removes: "the end of a transaction's organisation with the transaction",
      patches: [
        {
          file: "apps/api/src/platform/mutation.ts",
          find: ", true)`);",
          replace: ", false)`);",
        },
      ],
      expects: /a connection of the pool still acts as org_/,
    },
    {
      name: "function-without-search-path",
      removes: "the pinned search path of a function with its owner's rights",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "set search_path = public, pg_temp as $$\n  delete from",
          replace: "as $$\n  delete from",
        },
      ],
      expects: /kule_queue_finish runs with its owner's rights and no pinned search path/,
    },
  ],
  async run(run): Promise<RowResult> {
    const world = await ApiWorld.open();
    const owner = new pg.Client({ connectionString: world.database.ownerUrl });
    const api = new pg.Client({ connectionString: world.database.apiUrl });
    await owner.connect();
    await api.connect();
    try {
      const audit = await auditCatalogue(owner);
      const acting = await connectionsAfterMutations(world);
      const early = [...audit.violations, ...acting.violations];
      // On connections that still act for an organisation nothing else can be prepared.
      if (acting.violations.length > 0) return { cases: audit.checks + acting.cases, violations: early };
      run.progress(`${audit.secured.length} of ${audit.tables} tables are under row-level security`);
      return await withTwoOrganisations(async (all) => {
        await fillEveryTable(all);
        const [a, b] = [all.a.tenant.id, all.b.tenant.id];
        const probes = [
          await probeTables(api, owner, audit.secured, a, b),
          await probeTables(api, owner, audit.secured, b, a),
        ];
        return {
          cases: audit.checks + acting.cases + probes.reduce((sum, { cases }) => sum + cases, 0),
          violations: [...early, ...probes.flatMap(({ violations }) => violations)],
          figures: {
            "tables under row-level security": `${audit.secured.length} of ${audit.tables}, the others exempted with reasons`,
            "tables where a plain read leans on its filter alone, by ADR 0004": audit.tables,
            "pool connections looked at": acting.cases,
          },
        };
      }, world);
    } finally {
      await api.end();
      await owner.end();
      await world.close();
    }
  },
};

async function connectionsAfterMutations(world: ApiWorld) {
  const { owner } = await world.addOrganisation("first");
  const names = Array.from({ length: 40 }, (_, index) => `token ${index}`);
  await Promise.all(names.map((name) => owner.post("/tokens", { name, role: "viewer" })));
  const acting = await actingConnections(world.replica);
  return {
    cases: acting.length,
    violations: acting
      .filter((organisation) => organisation !== "")
      .map((organisation) => `a connection of the pool still acts as ${organisation} after its transaction`),
  };
}
