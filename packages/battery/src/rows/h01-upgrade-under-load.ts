import type { Skew } from "@kule/testing/rig/skew-proxy";
import type { Row, RowResult, RowRun } from "../row.ts";
import { agentPair, undeclaredKind } from "../upgrade/agent-pairs.ts";
import { takenMigrations } from "../upgrade/bad-migrations.ts";
import { buildElsewhere, commitBefore, type OtherBuild } from "../upgrade/other-build.ts";
import { ownBuild, rollingUpgrade, type UpgradeSize } from "../upgrade/rolling-upgrade.ts";

const SIZE: Readonly<Record<RowRun["scale"], UpgradeSize>> = {
  sample: { clients: 1, apis: 1, hasPanel: false, pauseMs: 300 },
  full: { clients: 4, apis: 3, hasPanel: true, pauseMs: 5_000 },
};

/** Calls that an API of an earlier release did not have. */
const missing = ["/agent/load-balancers", "/agent/consoles/claim"];
const later = ["an agent of a later version", { newerAgent: true }] as const;
const SKEWS: Readonly<Record<RowRun["scale"], readonly (readonly [name: string, skew: Skew])[]>> = {
  sample: [
    later,
    ["an API of an earlier version, whose answers have more fields", { newerApi: true, missing }],
  ],
  full: [
    later,
    ["an API of a later version", { newerApi: true }],
    ["an API of an earlier version", { missing }],
  ],
};

export const row: Row = {
  id: "H1",
  title:
    "An installation in use is upgraded process by process without an error, loss or repetition, and agents and APIs of two versions work together",
  minutes: 8,
  mutants: [
    {
      name: "lock-let-through",
      removes: "the refusal of an index that keeps everybody from writing",
      patches: [
        {
          file: "packages/database/src/migrations/lock-faults.ts",
          find: 'if (node.IndexStmt.concurrent !== true && !known.isNew(node.IndexStmt.relation?.relname ?? ""))',
          replace: "if (node.IndexStmt.concurrent !== true && known.checkedNotNull.size > 999)",
        },
      ],
      expects: /a migration that keeps everybody from a table is let through: create index/,
    },
    {
      name: "column-taken-away",
      removes: "the refusal to drop a column that the release before knows",
      patches: [
        {
          file: "packages/database/src/migrations/compatibility-faults.ts",
          find: `    case "AT_DropColumn":
      if (knows(before, table, name))`,
          replace: `    case "AT_DropColumn":
      if (knows({}, table, name))`,
        },
      ],
      expects: /a migration that breaks the release before is let through: alter table server drop column/,
    },
    {
      name: "dropped-at-sigterm",
      removes: "the drain of an API that gets SIGTERM",
      patches: [
        {
          file: "apps/api/src/commands/serve.ts",
          find: "await delay(settings.stopDelaySeconds * 1000);",
          replace: "(server as Server).close(); (server as Server).closeAllConnections();",
        },
      ],
      expects: /at the proxy: .* broke (the connection|its answer off)/,
    },
    {
      name: "strict-to-agents",
      removes: "that fields of a newer agent's claim are passed over",
      patches: [
        {
          file: "apps/api/src/platform/operation.ts",
          find: "    const body = validateBody(info.id, json);\n",
          replace: `    const known = ["claim_id", "agent_version", "agent_name", "capabilities", "wait_seconds", "public_key"];
    const isStrange = info.id === "claimJob" && Object.keys(json as object).some((name) => !known.includes(name));
    const body = validateBody(info.id, isStrange ? null : json);
`,
        },
      ],
      expects:
        /an agent of a later version.*(is still queued|has no ServerCreate|is queued|were answered 422)/s,
    },
    {
      name: "agent-stopped-by-404",
      removes: "that an agent goes on when the API does not have a call yet",
      patches: [
        {
          file: "apps/agent/src/console-loop.ts",
          find: '    if (answer.kind !== "away")\n',
          replace:
            '    if (answer.kind === "refused") throw new Error("the control plane has no consoles");\n    if (answer.kind !== "away")\n',
        },
      ],
      expects: /an API of an earlier version/,
    },
  ],
  async run(run) {
    const parts = new Parts(run);
    const migrations = await takenMigrations();
    parts.add("migrations", migrations.cases, migrations.violations);
    const extent = run.scale === "full" ? "every kind" : "one kind";
    for (const [name, skew] of SKEWS[run.scale])
      await parts.try(name, async () => agentPair(name, {}, skew, extent));
    if (run.scale === "full") await parts.try("undeclared kinds", undeclaredKind);
    await parts.upgrade(null);
    if (run.scale === "full") {
      const before = commitBefore();
      if ("reason" in before) parts.figures["why not with the commit before"] = before.reason;
      else {
        if (before.note !== null) parts.figures["the commit before"] = before.note;
        await parts.upgrade(before.commit);
      }
    }
    return parts.result();
  },
};

class Parts {
  readonly figures: Record<string, number | string> = {};
  readonly #run: RowRun;
  readonly #violations: string[] = [];
  #cases = 0;

  constructor(run: RowRun) {
    this.#run = run;
  }

  add(what: string, cases: number, violations: readonly string[]): void {
    this.#cases += cases;
    this.figures[what] = cases;
    this.#violations.push(...violations);
    this.#run.progress(`${what}: ${cases} cases, ${violations.length} violations`);
  }

  /** After a violation the next parts would only find it again. */
  async try(
    what: string,
    work: () => Promise<{ readonly cases: number; readonly violations: readonly string[] }>,
  ): Promise<void> {
    if (this.#violations.length > 0) return;
    const { cases, violations } = await work();
    this.add(what, cases, violations);
  }

  /** From that commit, or this tree built elsewhere, to this tree; at full length also back, and agents of both with APIs of both. */
  async upgrade(commit: string | null): Promise<void> {
    if (this.#violations.length > 0) return;
    const { scale, progress } = this.#run;
    const size = SIZE[scale];
    const apps = size.hasPanel ? (["api", "agent", "console"] as const) : (["api", "agent"] as const);
    let other: OtherBuild | null = null;
    try {
      const [built, own] = await Promise.all([buildElsewhere(commit, apps), ownBuild(size.hasPanel)]);
      other = built;
      const between = [[built, own], ...(commit === null ? [] : [[own, built] as const])] as const;
      for (const [before, after] of between)
        await this.try(`upgrades from ${before.name}`, async () => {
          const { violations, figures } = await rollingUpgrade(
            before,
            after,
            size,
            progress,
            after === own ? "forward" : "back",
          );
          for (const [name, value] of Object.entries(figures))
            this.figures[`${before.name}: ${name}`] = value;
          return { cases: 1, violations };
        });
      if (commit === null) return;
      await this.try(`the agent of ${built.name}`, () =>
        agentPair(`the agent of ${built.name}`, { agent: built.mains.agent }, {}, "every kind"),
      );
      await this.try(`the API of ${built.name}`, () =>
        agentPair(`the API of ${built.name}`, { api: built.mains.api }, {}, "every kind"),
      );
    } finally {
      other?.remove();
    }
  }

  result(): RowResult {
    return { cases: this.#cases, violations: this.#violations, figures: this.figures };
  }
}
