import { type ModelRuns, runModel } from "../model/model-runs.ts";
import type { Row } from "../row.ts";

/** Worlds of their own, since each run leaves two organisations and a region behind. */
const plan = { full: { worlds: 7, runs: 200 }, sample: { worlds: 1, runs: 25 } };

/** Answers that the sequences must come to; without them the model would agree with anything. */
const often = ["200", "201", "202", "204", "404", "invalid_state", "resource_deleting"];
const reached = {
  sample: often,
  full: [
    ...[...often, "422", "name_taken", "in_use", "protected", "last_owner", "already_member", "cidr_overlap"],
    ...["vlan_exhausted", "vmid_exhausted", "subnet_exhausted"],
  ],
};

export const row: Row = {
  id: "C10",
  title: "Whatever two organisations and an agent do in whatever order, the API answers as its model.",
  minutes: 3,
  mutants: [
    {
      name: "delete-while-deleting",
      removes: "the state that refuses to change a server in the removal buffer",
      patches: [
        {
          file: "packages/rules/src/servers/lifecycle.ts",
          find: 'case "update":\n      return onItsWayOut(state.status) ?? allowed;',
          replace: 'case "update":\n      return allowed;',
        },
      ],
      expects: /PATCH .*the model says 409 resource_deleting|the API says \["pending_deletion"/,
    },
    {
      name: "restore-of-nothing",
      removes: "the rule that a server which was never made has nothing to be restored",
      patches: [
        {
          file: "packages/rules/src/servers/lifecycle.ts",
          find: 'if (!wasCreated) return "error";',
          replace: "",
        },
      ],
      expects: /the API says \["pending_deletion","unknown",\w+,"stopped"/,
    },
    {
      name: "last-owner-may-go",
      removes: "the refusal to leave an organisation without an owner",
      patches: [
        {
          file: "apps/api/src/products/identity/update-member.ts",
          find: "(await countOwners(tx, organisationId)) <= 1",
          replace: "(await countOwners(tx, organisationId)) < 1",
        },
      ],
      expects: /members\/.*the model says 409 last_owner/,
    },
    {
      name: "former-holder-heard",
      removes: "the epoch test when a step is reported",
      patches: [
        {
          file: "apps/api/src/agent/report-step.ts",
          find: "if (job.epoch !== report.epoch) throw new StaleLease(job.id);",
          replace: "",
        },
      ],
      expects: /the report of a former holder of \w+: the API says \[200/,
    },
    {
      name: "unsettled-cancel",
      removes: "what the cancelling of a waiting job means for its server",
      patches: [
        {
          file: "apps/api/src/products/jobs/cancel-job.ts",
          find: "await handlerOf(handlers, job).settle(tx, job, end, request.deps.settings);",
          replace: "",
        },
      ],
      expects: /cancel: the model says 202 +, the API says 500|the API says \["creating"/,
    },
  ],
  async run(run) {
    const { worlds, runs } = plan[run.scale];
    const results: ModelRuns[] = [];
    for (let world = 0; world < worlds; world += 1) {
      results.push(
        await runModel(runs, run.seed + world * 7_919, run.mutant === null, (done) =>
          run.progress(`${world * runs + done} of ${worlds * runs} sequences`),
        ),
      );
    }
    const sum = (of: "runs" | "commands" | "answers") => results.reduce((total, each) => total + each[of], 0);
    const violations = results.flatMap((each) => each.violations);
    const outcomes = new Map<string, number>();
    for (const each of results)
      for (const [outcome, count] of each.outcomes)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
    const missed = reached[run.scale].filter((outcome) => !outcomes.has(outcome));
    if (violations.length === 0 && missed.length > 0)
      violations.push(`no sequence came to an answer of ${missed.join(", ")}`);
    if (violations.length === 0 && sum("commands") < sum("runs") * 25)
      violations.push(`only ${sum("commands")} commands in ${sum("runs")} sequences`);
    return {
      cases: sum("commands"),
      violations,
      figures: {
        sequences: sum("runs"),
        commands: sum("commands"),
        "answers held against the model": sum("answers"),
        "of 404, 409 and 422": [...outcomes].reduce(
          (total, [outcome, count]) => total + (/^20/.test(outcome) ? 0 : count),
          0,
        ),
        "kinds of conflict": [...outcomes.keys()].filter((outcome) => !/^\d/.test(outcome)).length,
      },
    };
  },
};
