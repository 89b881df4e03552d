import { type MutantRun, p95Recovery, whyNotCaught } from "./judgement.ts";
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

/** A row of the scoreboard. */
export type Entry = {
  readonly id: string;
  readonly line: string;
  readonly details: readonly string[];
};

export type Scoreboard = { readonly entries: readonly Entry[]; readonly runs: readonly string[] };

const number = (value: number) => value.toLocaleString("en-US");

/** The scoreboard of a run. */
export function scoreboardOf(reports: readonly RowReport[], facts: RunFacts): Scoreboard {
  const { seed, commit, date, minutes, machine } = facts;
  return {
    entries: reports.map((report) => ({
      id: report.row.id,
      line: line(report, facts),
      details: details(report),
    })),
    runs: [
      `${reports.length === 1 ? "1 row" : `${reports.length} rows`}: seed ${seed}, commit ${commit}, ${date}, ${Math.round(minutes)} minutes on ${machine}.`,
    ],
  };
}

/** The scoreboard after some of its rows were run again; it names them. Removed rows are left out. */
export function withRowsAgain(before: Scoreboard, again: Scoreboard, rows: readonly Row[]): Scoreboard {
  const entries = new Map([...before.entries, ...again.entries].map((entry) => [entry.id, entry]));
  return {
    entries: rows.flatMap(({ id }) => entries.get(id) ?? []),
    runs: [...before.runs, ...again.runs.map((run) => `Run again after it failed, ${run}`)],
  };
}

/** The rows that did not pass as they are now: what is new since, and what has got another mutant, did not either. */
export function rowsLeft({ entries }: Scoreboard, rows: readonly Row[]): Row[] {
  const passed = new Map(entries.filter(hasPassed).map(({ id, details }) => [id, mutantsOf(details)]));
  return rows.filter(({ id, mutants }) => {
    const ran = passed.get(id);
    const isAsItWas =
      ran !== undefined &&
      ran.length === mutants.length &&
      mutants.every(({ name }) => ran.some((text) => text.includes(`(\`${name}\`)`)));
    return !isAsItWas;
  });
}

/** Whether the row ran, found nothing, and found each of its mutants: in all but the first nothing is bold. */
function hasPassed({ line, details }: Entry): boolean {
  return [line, ...details.slice(1)].every((text) => !text.includes("**")) && mutantsOf(details).length > 0;
}

const mutantsOf = (details: readonly string[]) => details.filter((text) => text.startsWith("- without "));

/** `docs/reliability.md`: one line a row, then what each row counts and what its mutants remove. */
export function renderScoreboard({ entries, runs }: Scoreboard): string {
  const mutants = entries.flatMap(({ details }) => mutantsOf(details));
  const caught = mutants.filter((text) => text.endsWith(": caught"));
  return `${[
    "# Reliability",
    "",
    "Written by `npm run battery`; do not edit. This page is an explanation. Each row injects a fault, many times, and checks its guarantee afterwards. A row counts only if every one of its mutants (the product with that defence removed) is caught by the same row, in at most three short runs of it.",
    "",
    `${entries.filter(hasPassed).length} of ${entries.length} rows passed, ${caught.length} of ${mutants.length} mutants caught.`,
    "",
    ...runs.map((run) => `* ${run}`),
    "",
    "| row | guarantee | cases | violations | mutants caught | p95 recovery | seed | commit |",
    "|---|---|---:|---:|---:|---:|---:|---|",
    ...entries.map(({ line }) => line),
    "",
    "Recovery is the time from the fault until everything is consistent again, with leases as short as the row says. To repeat one row or one seed: `npm run battery -- --row A5 --seed 7`; one of its mutants: `--mutant <name>`; the rows that did not pass here: `--failed`.",
    "",
    "## Figures",
    "",
    ...entries.flatMap(({ details }) => [...details, ""]),
  ]
    .join("\n")
    .trimEnd()}\n`;
}

/** Parses the output of `renderScoreboard`. */
export function readScoreboard(text: string): Scoreboard {
  const lines = text.split("\n");
  return {
    runs: lines.filter((each) => each.startsWith("* ")).map((each) => each.slice("* ".length)),
    entries: lines.flatMap((line) => {
      const id = /^\| ([A-Z]\d+) \|/.exec(line)?.[1];
      if (id === undefined) return [];
      const first = lines.findIndex((each) => each.startsWith(`**${id}** `));
      const end = lines.indexOf("", first);
      return [{ id, line, details: first < 0 ? [] : lines.slice(first, end < 0 ? undefined : end) }];
    }),
  };
}

function line({ row, outcome, mutants }: RowReport, { seed, commit }: RunFacts): string {
  const caught = `${mutants.filter((run) => whyNotCaught(run) === null).length}/${row.mutants.length}`;
  if (outcome === undefined || "error" in outcome)
    return `| ${row.id} | ${row.title} | **0** | **broke down** | ${caught} | – | ${seed} | ${commit} |`;
  const { result } = outcome;
  const recovery = p95Recovery(result);
  const violations = result.violations.length === 0 ? "0" : `**${result.violations.length}**`;
  const cases = result.cases === 0 ? "**0**" : number(result.cases);
  return `| ${row.id} | ${row.title} | ${cases} | ${violations} | ${caught} | ${recovery === null ? "–" : `${recovery.toFixed(1)} s`} | ${seed} | ${commit} |`;
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
  ];
}
