import { filtersAlone, neitherLine, rowLevelSecurityAlone } from "@kule/api/testing/proofs/two-lines";
import type { Row } from "../row.ts";
import { withoutTenantGuard } from "../tenancy/organisation-filters.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

const LEAST_CASES = { full: 5_000, sample: 500 };

export const row: Row = {
  id: "C4",
  title: "Each of the two defences between organisations holds without the other.",
  minutes: 8,
  mutants: [
    {
      name: "no-policy-on-ssh-keys",
      removes: "row-level security on one table",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/ssh-keys.ts",
          find: `isolateTenants("ssh_key")`,
          replace: `""`,
        },
      ],
      expects: /without any filter, admin of A changed rows .* in ssh_key/,
    },
    {
      name: "mutations-act-as-nobody",
      removes: "the organisation that a mutation's transaction acts as",
      patches: [
        {
          file: "apps/api/src/platform/mutation.ts",
          find: "if (organisation !== null) actAs(tx, organisation.id);",
          replace: "",
        },
      ],
      expects: /without any filter, admin of . changed rows .* in (server|network|subnet)/,
    },
    {
      name: "no-filter-networks",
      removes: "organisation_id in the query of networks",
      patches: [
        {
          file: "apps/api/src/products/networks/store.ts",
          find: '.where("network.organisation_id", "=", organisationId)',
          replace: "",
        },
        withoutTenantGuard,
      ],
      expects: /without row-level security: .*Network.* foreign/,
    },
  ],
  run: (run) =>
    withTwoOrganisations(async (all) => {
      const actors = run.scale === "full" ? /./ : /^(admin of A|the agent of A's region)$/;
      // A text that is not an id reaches no query; C1 has it.
      const first = await filtersAlone(
        all,
        actors,
        ({ name }) => run.scale === "full" || !name.startsWith("malformed"),
      );
      run.progress(`${first.cases} cells without row-level security`);
      const second = await rowLevelSecurityAlone(all);
      const neither = await neitherLine(all);
      const cases = first.cases + second.cases + neither.cases;
      const violations = [first, second, neither].flatMap((findings) => findings.violations);
      if (cases < LEAST_CASES[run.scale]) violations.push(`only ${cases} cells were run`);
      return {
        cases,
        violations,
        figures: {
          "cells with filters alone": first.cases,
          "mutations with row-level security alone": second.cases,
          "cells with neither, to see them found": neither.cases,
        },
      };
    }),
};
