import { runMassAssignment } from "@kule/api/testing/proofs/mass-assignment-run";
import type { Row } from "../row.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

export const row: Row = {
  id: "C7",
  title: "No body sets fields that the contract does not have, and no answer shows any.",
  minutes: 1,
  mutants: [
    {
      name: "unknown-fields-pass",
      removes: "the refusal of fields that a body does not have",
      patches: [
        {
          file: "packages/contract/src/validate.ts",
          find: "if (!fits) addFindings(found, validate.errors ?? []);",
          replace:
            "const others = (validate.errors ?? []).filter(({ keyword }) => !/^(additional|unevaluated)Properties$/.test(keyword));" +
            "\n  if (!fits && others.length === 0) return { ok: true, value: value as Value };" +
            "\n  if (!fits) addFindings(found, others);",
        },
      ],
      expects: /^(createServer|createNetwork) took .*: 20[12]/,
    },
    {
      name: "whole-row-shown",
      removes: "the choice of the columns that an answer shows",
      patches: [
        {
          file: "apps/api/src/products/ssh-keys/view.ts",
          find: "id: row.id,",
          replace: "...row, id: row.id,",
        },
        {
          // The test build would notice in the middle of the preparations.
          file: "apps/api/src/platform/test-build.ts",
          find: "if (defect !== null) throw new Error(defect);",
          replace: "",
        },
      ],
      expects: /SshKeys? shows what its schema does not have/,
    },
  ],
  run: (run) =>
    withTwoOrganisations(async (all) => {
      const oneByOne = run.scale === "full" ? /./ : /^(createServer|createNetwork)$/;
      const { cases, violations, fields, answers } = await runMassAssignment(all, oneByOne);
      return {
        cases,
        violations,
        figures: { "foreign fields tried": fields, "answers held against their schema": answers },
      };
    }),
};
