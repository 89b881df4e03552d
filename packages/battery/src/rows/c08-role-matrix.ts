import { grantFindings } from "@kule/api/testing/proofs/grant-matrix";
import {
  permissionTableFindings,
  runAskedInside,
  runRoleMatrix,
  scopedTokenFindings,
  scopes,
} from "@kule/api/testing/proofs/role-matrix";
import { testBuildFindings } from "@kule/api/testing/proofs/test-build-hooks";
import { allOperations } from "@kule/testing/contract/contract-schema";
import type { Row } from "../row.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

const LEAST_ACTORS = { full: 15, sample: 3 };
const inSample = /nobody|owner of A|viewer of A|agent of A/;
/** The actors that are refused these. */
const inSampleInside = /owner of A|member of A/;

export const row: Row = {
  id: "C8",
  title: "Every operation serves exactly the callers with its permission, and no route bypasses the checks.",
  minutes: 1,
  mutants: [
    {
      name: "permission-not-asked",
      removes: "the check of a caller's permission in one product",
      patches: [
        {
          file: "apps/api/src/platform/authorise.ts",
          find: 'if (permission === "public" || permission === "authenticated") return;',
          replace:
            'if (permission === "public" || permission === "authenticated" || permission === "network:delete") return;',
        },
      ],
      expects: /^delete(Network|Subnet) as (viewer|billing) of A: expected 403/,
    },
    {
      name: "viewer-may-delete",
      removes: "the distinction between read and write in the table of permissions",
      patches: [
        {
          file: "packages/rules/src/identity/permissions.ts",
          find: '"member:read",\n  "network:read",',
          replace: '"member:read",\n  "server:delete",\n  "network:read",',
        },
      ],
      expects: /^viewer of A may change something by deleteServer/,
    },
    {
      name: "agent-on-the-user-api",
      removes: "the distinction between agents and people",
      patches: [
        {
          file: "packages/rules/src/identity/permissions.ts",
          find: '  "agent:releases",\n] as const',
          replace: '  "agent:releases",\n  "job:read",\n] as const',
        },
      ],
      expects: /^(listJobs|getJob) and the agent of A's region: true/,
    },
    {
      name: "members-unprotect",
      removes: "the permission that is needed to remove a server's protection",
      patches: [
        {
          file: "apps/api/src/products/servers/update-server.ts",
          find: 'if (isLowered) requirePermissions(request, ["server:unprotect"]);',
          replace: "",
        },
      ],
      expects: /^updateServer as member of A: expected 403 naming server:unprotect, got 200/,
    },
    {
      name: "unchecked-route",
      removes: "the error of a route without a permission check, in test builds",
      patches: [
        {
          file: "apps/api/src/app.ts",
          find: "if (deps.settings.testBuild) app.use(refuseUncheckedRoutes);",
          replace: "",
        },
      ],
      expects: /^a route without an authorisation check answered 200/,
    },
    {
      name: "unaudited-change",
      removes: "the error of a change without an audit row, in test builds",
      patches: [
        {
          file: "apps/api/src/platform/test-build.ts",
          find: "if (succeeded && operation.audit !== null && established.audited !== true)",
          replace: "if (false)",
        },
      ],
      expects: /^a change without an audit row answered 204/,
    },
    {
      name: "scopes-ignored",
      removes: "the scopes of a token",
      patches: [
        {
          file: "packages/rules/src/identity/permissions.ts",
          find: "if (scopes === null) return [...permissions];",
          replace: "return [...permissions];",
        },
      ],
      expects: /with the scope .* answered 2/,
    },
    {
      name: "grants-past-scopes",
      removes: "the check of the scopes of a caller who grants access",
      patches: [
        {
          file: "packages/rules/src/identity/grants.ts",
          find: "return roles.flatMap((each) => effectivePermissions(each, scopes));",
          replace: "return roles.flatMap((each) => effectivePermissions(each, null));",
        },
      ],
      expects:
        /^(createInvitation|updateMember|removeMember|createToken|rotateToken) of \w+ \[.*\] by .* answered 2.*beyond/,
    },
    {
      name: "removes-who-stands-above",
      removes: "the check of the role of a member who is removed",
      patches: [
        {
          file: "apps/api/src/products/members/remove-member.ts",
          find: "await requireStillGrantable(request, tx, ...memberships(member.role));",
          replace: "await requireStillGrantable(request, tx);",
        },
      ],
      expects: /^removeMember of \w+ \[\] by .* answered 204, which is beyond/,
    },
  ],
  run: (run) =>
    withTwoOrganisations(async (all) => {
      const findings = [
        permissionTableFindings(all),
        await testBuildFindings(all),
        await runRoleMatrix(all, run.scale === "full" ? /./ : inSample),
      ];
      findings.push(await runAskedInside(all, run.scale === "full" ? /./ : inSampleInside));
      run.progress("the role matrix was run");
      const granting = await all.world.addOrganisation("granting");
      findings.push(await grantFindings(all.world, granting, run.scale));
      run.progress("all that hands on access was tried");
      for (const scope of run.scale === "full" ? scopes : scopes.slice(0, 1))
        findings.push(await scopedTokenFindings(all, scope));
      const [, , matrix] = findings;
      const operations = allOperations().length;
      const violations = findings.flatMap((each) => each.violations);
      if ((matrix?.cases ?? 0) < operations * LEAST_ACTORS[run.scale])
        violations.push("the role matrix has lost actors or operations");
      return {
        cases: findings.reduce((sum, { cases }) => sum + cases, 0),
        violations,
        figures: {
          "operations covered": `${operations - 1} of ${operations}, login is nobody's call`,
          "calls as everybody": matrix?.cases ?? 0,
        },
      };
    }),
};
