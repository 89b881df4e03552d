import { systemQueryReasons } from "@kule/api/platform/database";
import { ApiWorld } from "@kule/api/testing/api-world";
import { systemQueries } from "@kule/api/testing/proofs/system-queries";
import type { Mutant, Row } from "../row.ts";
import { everyQuery, tryGuard, watchGuard } from "../tenancy/guarded-run.ts";
import { withoutTenantGuard } from "../tenancy/organisation-filters.ts";
import { auditStatements } from "../tenancy/statement-audit.ts";
import { startLoggingDatabase } from "../tenancy/statement-log.ts";
import { unfilteredUses } from "../tenancy/unfiltered-statements.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

const mutants: readonly Mutant[] = [
  {
    name: "blind-guard",
    removes: "the tenant guard's check of a query",
    patches: [{ file: "apps/api/src/platform/tenant-guard.ts", find: "walk(node as Node);", replace: "" }],
    expects: /the guard lets a query with .* pass/,
  },
  {
    name: "guard-takes-an-or",
    removes: "the rule that a filter inside of an OR does not count",
    patches: [
      {
        file: "apps/api/src/platform/tenant-guard.ts",
        find: 'if (node.kind === "AndNode")',
        replace: 'if (node.kind === "AndNode" || node.kind === "OrNode")',
      },
    ],
    expects: /the guard lets a query with a filter inside an or pass/,
  },
  {
    name: "raw-join-unfiltered",
    removes: "organisation_id in a join of raw SQL, which the guard cannot read",
    patches: [
      {
        file: "apps/api/src/products/servers/store.ts",
        find: `join address on address.organisation_id = nic.organisation_id and address.nic_id = nic.id
   where nic.organisation_id = server.organisation_id and nic.server_id = server.id), '[]'::json)`,
        replace: `join address on address.nic_id = nic.id
   where nic.organisation_id = server.organisation_id and nic.server_id = server.id), '[]'::json)`,
      },
    ],
    expects: /select address by .* names no organisation and is not on the list/,
  },
  {
    name: "delete-unfiltered",
    removes: "organisation_id in a delete, and the guard that would refuse it",
    patches: [
      {
        file: "apps/api/src/products/ssh-keys/store.ts",
        find: 'deleteFrom("ssh_key").where("organisation_id", "=", organisationId)',
        replace: 'deleteFrom("ssh_key")',
      },
      withoutTenantGuard,
    ],
    expects: /delete ssh_key by id names no organisation and is not on the list/,
  },
];

export const row: Row = {
  id: "C3",
  title: "Every query on a table of organisations names the organisation, or is on a list that only shrinks.",
  minutes: 1,
  mutants,
  async run(run) {
    const log = await startLoggingDatabase();
    try {
      const world = await ApiWorld.over(log.database);
      try {
        const shapes = await tryGuard();
        const guard = await watchGuard(() =>
          withTwoOrganisations((all) => everyQuery(all, run.scale), world),
        );
        run.progress(`${guard.queries} queries passed the guard`);
        const statements = auditStatements(await log.statements());
        const violations = [...shapes.violations, ...guard.violations, ...statements.violations];
        const listed = new Set(systemQueries.map((entry) => entry.split(": ")[1]));
        for (const reason of systemQueryReasons())
          if (!listed.has(reason) && reason !== "this test")
            violations.push(`a query was exempted from the guard for a reason that is not listed: ${reason}`);
        if (guard.queries < 2_000) violations.push(`only ${guard.queries} queries passed the guard`);
        if (statements.seen < 5_000 || statements.distinct < 100)
          violations.push(`only ${statements.seen} statements of ${statements.distinct} texts were seen`);
        return {
          cases: shapes.cases + guard.queries + statements.uses,
          violations,
          figures: {
            "queries at the guard": guard.queries,
            "of distinct shapes": guard.shapes,
            "exemptions from the guard": systemQueries.length,
            "statements in Postgres": statements.seen,
            "of distinct texts": statements.distinct,
            "unfiltered uses on the list": Object.keys(unfilteredUses).length,
          },
        };
      } finally {
        await world.close();
      }
    } finally {
      await log.stop();
    }
  },
};
