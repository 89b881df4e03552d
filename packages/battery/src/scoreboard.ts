import { failuresOf, type MutantRun, p95Recovery, whyNotCaught } from "./judgement.ts";
import type { Row } from "./row.ts";
import type { RowRunOutcome } from "./row-process.ts";

export type RowReport = {
  readonly row: Row;
  readonly outcome: RowRunOutcome | undefined;
  readonly mutants: readonly MutantRun[];
};

export type RunFacts = {
  readonly seed: number;
  /** With a plus sign when the tree had uncommitted changes. */
  readonly commit: string;
  readonly date: string;
  readonly minutes: number;
  readonly machine: string;
};

const number = (value: number) => value.toLocaleString("en-US");

/** `docs/reliability.md`: one line a row, then what each row counts and what its mutants remove. */
export function renderScoreboard(reports: readonly RowReport[], facts: RunFacts): string {
  const failed = reports.filter(({ row, outcome, mutants }) => failuresOf(row, outcome, mutants).length > 0);
  const caught = reports.flatMap(({ mutants }) => mutants).filter((run) => whyNotCaught(run) === null).length;
  const all = reports.flatMap(({ row }) => row.mutants).length;
  return `${[
    "# Reliability",
    "",
    "Written by `npm run battery`; do not edit. Each row injects a fault, many times, and looks for broken promises afterwards. A row counts only if every one of its mutants (the product with that defence taken out) is caught by the same row.",
    "",
    `${reports.length - failed.length} of ${reports.length} rows passed, ${caught} of ${all} mutants caught. Seed ${facts.seed}, commit ${facts.commit}, ${facts.date}, ${Math.round(facts.minutes)} minutes on ${facts.machine}.`,
    "",
    "| row | promise | cases | violations | mutants caught | p95 recovery | seed | commit |",
    "|---|---|---:|---:|---:|---:|---:|---|",
    ...reports.map((report) => line(report, facts)),
    "",
    "Recovery is the time from the fault to a world in order again, with leases as short as the row says. Again, one row or one seed: `npm run battery -- --row A5 --seed 7`; one of its mutants: `--mutant <name>`.",
    "",
    "## What was counted",
    "",
    ...reports.flatMap(details),
  ]
    .join("\n")
    .trimEnd()}\n`;
}

function line({ row, outcome, mutants }: RowReport, { seed, commit }: RunFacts): string {
  const caught = `${mutants.filter((run) => whyNotCaught(run) === null).length}/${row.mutants.length}`;
  if (outcome === undefined || "error" in outcome)
    return `| ${row.id} | ${row.title} | **0** | **broke down** | ${caught} | – | ${seed} | ${commit} |`;
  const { result } = outcome;
  const recovery = p95Recovery(result);
  const violations = result.violations.length === 0 ? "0" : `**${result.violations.length}**`;
  return `| ${row.id} | ${row.title} | ${number(result.cases)} | ${violations} | ${caught} | ${recovery === null ? "–" : `${recovery.toFixed(1)} s`} | ${seed} | ${commit} |`;
}

function details({ row, outcome, mutants }: RowReport): string[] {
  const figures =
    outcome !== undefined && "result" in outcome
      ? Object.entries(outcome.result.figures ?? {}).map(
          ([name, value]) => `${name} ${typeof value === "number" ? number(value) : value}`,
        )
      : [];
  const seconds = outcome === undefined ? [] : [`${Math.round(outcome.seconds)} s`];
  return [
    `**${row.id}** ${[...figures, ...seconds].join("; ")}.`,
    ...row.mutants.map((mutant) => {
      const run = mutants.find((each) => each.mutant.name === mutant.name);
      const isCaught = run !== undefined && whyNotCaught(run) === null;
      return `- without ${mutant.removes} (\`${mutant.name}\`): ${isCaught ? "caught" : "**not caught**"}`;
    }),
    "",
  ];
}
