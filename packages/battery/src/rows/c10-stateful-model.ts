import type { Row } from "../row.ts";
import { type ModelRuns, runModel } from "../stateful-model/model-runs.ts";

/**
 * Worlds of their own, since each run leaves two organisations and a region behind; two at a time, since one waits for
 * Postgres half of its time.
 */
const plan = {
  full: { worlds: 10, runs: 200 },
  sample: { worlds: 2, runs: 15 },
  mutant: { worlds: 2, runs: 80 },
};
const lanes = 2;

/** Answers that the sequences must reach; without them the model would agree with anything. */
const often = ["200", "201", "202", "204", "404", "invalid_state", "resource_deleting"];
const reached = {
  sample: often,
  full: [
    ...[...often, "422", "name_taken", "in_use", "protected", "last_owner", "already_member", "cidr_overlap"],
    ...["vlan_exhausted", "vmid_exhausted", "subnet_exhausted", "locked", "forbidden", "duplicate_key"],
    ...["guest_agent_unavailable", "disk_shrink_forbidden", "region_unavailable", "quota_exceeded"],
    ...["no_public_ip_available", "already_attached", "not_attached", "tier_forbids_egress"],
  ],
};

const actions = "packages/rules/src/servers/lifecycle.ts";

export const row: Row = {
  id: "C10",
  title: "Whatever two organisations and an agent do, in any order, the API answers like its model.",
  minutes: 6,
  mutants: [
    {
      name: "delete-while-deleting",
      removes: "the state that refuses to change a server in the removal buffer",
      patches: [
        {
          file: actions,
          find: 'case "update":\n      return isBeingDeleted(state.status) ?? allowed;',
          replace: 'case "update":\n      return allowed;',
        },
      ],
      expects: /PATCH .*the model says 409 resource_deleting|what may be done with/,
    },
    {
      name: "restore-of-nothing",
      removes: "the rule that a server which was never created has nothing to restore",
      patches: [
        {
          file: actions,
          find: 'if (!wasCreated) return "error";',
          replace: "",
        },
      ],
      expects: /the API says \["server-\d","(pending_deletion|deleting)","unknown","stopped"/,
    },
    {
      name: "last-owner-may-go",
      removes: "the refusal to leave an organisation without an owner",
      patches: [
        {
          file: "apps/api/src/products/members/update-member.ts",
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
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and epoch = p_epoch and last_seq < p_seq",
          replace: "and last_seq < p_seq",
        },
      ],
      expects: /the report of a former holder of \w+: the API says \[200/,
    },
    {
      name: "unsettled-cancel",
      removes: "the effect of cancelling a waiting job on its server",
      patches: [
        {
          file: "apps/api/src/products/jobs/cancel-job.ts",
          find: "await handlerOf(handlers, job).settle(tx, job, end, request.deps.settings);",
          replace: "",
        },
      ],
      expects: /cancel: the model says 202 +, the API says 500|the API says \["server-\d","creating"/,
    },
    {
      name: "deletion-not-undone",
      removes: "the restore of the state in which a server was deleted",
      patches: [
        {
          file: "apps/api/src/products/servers/cancel-server-deletion.ts",
          find: 'isBeingCreated ? "creating" : statusAfter[restoresTo]',
          replace: 'isBeingCreated ? "creating" : restoresTo === "error" ? "error" : "stopped"',
        },
      ],
      expects:
        /server server-\d: the API says \["server-\d","stopped".*the model says \["server-\d","starting"/,
    },
    {
      name: "lock-not-looked-at",
      removes: "the operator's lock from what refuses a change",
      patches: [
        { file: actions, find: "if (state.lockedFor !== null)", replace: 'if (state.lockedFor === "")' },
      ],
      expects: /the model says 409 locked|what may be done with/,
    },
    {
      name: "stop-waits-for-guest",
      removes: "the stop that does not wait for a guest's shutdown",
      patches: [
        {
          file: "packages/rules/src/servers/power.ts",
          find: 'if (action === "stop" && waitsForGuest(state)) return allowed;',
          replace: "",
        },
      ],
      expects:
        /power: the model says 202|what may be done with server server-\d, which is (stopping|rebooting)/,
    },
    {
      name: "quota-kept-by-deleted-server",
      removes: "the release of a destroyed server's quota",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/quota-counts.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          find: '${sizeOf("old")}, -1)',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          replace: '${sizeOf("old")}, 0)',
        },
      ],
      expects: /quotas of organisation|quota_exceeded/,
    },
    {
      name: "rename-not-unique",
      removes: "the check of other servers' names before one is renamed",
      patches: [
        {
          file: "apps/api/src/products/servers/update-server.ts",
          find: '...(isRenamed ? await nameTaken(tx, server, body.name ?? "") : []),',
          replace: "",
        },
        {
          file: "packages/database/src/migrations/0001-baseline/servers.ts",
          find: "create unique index server_name on",
          replace: "create index server_name on",
        },
      ],
      expects: /PATCH .*the model says 409 name_taken/,
    },
  ],
  async run(run) {
    // A mutant ends with the first sequence that shows it, and what shows it may be rare.
    const { worlds, runs } = run.mutant === null ? plan[run.scale] : plan.mutant;
    const results: ModelRuns[] = [];
    const waiting = Array.from({ length: worlds }, (_, world) => run.seed + world * 7_919);
    let done = 0;
    const lane = async () => {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift())
        results.push(
          await runModel({
            runs,
            seed,
            shortens: run.mutant === null,
            isOver: () => results.some(({ violations }) => violations.length > 0),
            progress: (more) => {
              done += more;
              run.progress(`${done} of ${worlds * runs} sequences`);
            },
          }),
        );
    };
    await Promise.all(Array.from({ length: lanes }, lane));
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
