// The reliability battery: every row at full length, each of its mutants, and docs/reliability.md.

import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundleApps } from "@kule/build/bundle-apps";
import { startDatabaseBroker } from "@kule/testing/database-broker";
import { beginJournal, noteInJournal, readJournal } from "./journal.ts";
import { failuresOf, p95Recovery, whyNotCaught } from "./judgement.ts";
import { loadRows } from "./load-rows.ts";
import type { Row } from "./row.ts";
import {
  type RowReport,
  readScoreboard,
  renderScoreboard,
  rowsLeft,
  scoreboardOf,
  withRowsAgain,
} from "./scoreboard.ts";
import { type DoneTask, runTasks, type Task, tasksOf } from "./tasks.ts";

const root = resolve(import.meta.dirname, "../../..");
const scoreboardFile = join(root, "docs/reliability.md");
const journalFile = join(root, ".battery.jsonl");
const usage = `npm run battery                                     all of it, two hours on two cores
npm run battery -- --continue                       the rest of a run that was interrupted, on the same commit
npm run battery -- --row A5 --row B1                these rows and their mutants; writes nothing
npm run battery -- --failed                         the rows that docs/reliability.md has not as passed, into it
npm run battery -- --failed --row G1                of those only this one
npm run battery -- --row A5 --seed 7                with this seed
npm run battery -- --row A5 --mutant no-epoch-test  one mutant, and what it makes the row find
npm run battery -- --row A5 --no-mutants --sample   only the row, as short as \`npm test\` runs it
npm run battery -- --row A5 --lanes 1               nothing beside it, for figures of time`;
const values = readOptions();
const isWhole = values.mutant === undefined && !values["no-mutants"] && !values.sample;
const journal = values.continue ? journalToContinue() : null;
const isAgain = journal?.failed ?? values.failed === true;
const isKept = isWhole && (values.row === undefined || isAgain);
const seed = journal?.seed ?? Number(values.seed ?? randomInt(2 ** 31));
const lanes = Number(values.lanes);
if (!Number.isSafeInteger(seed) || seed < 0) fail("--seed is a whole number from 0 up");
if (!Number.isSafeInteger(lanes) || lanes < 1) fail("--lanes is a whole number from 1 up");

const allRows = await loadRows();
const rows = chosenRows(allRows);
const startedAt = performance.now();
const say = (text: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const tasks = chosenTasks();
const earlier = tasks.flatMap((task) => {
  const outcome = journal?.outcomeOf(task);
  return outcome === undefined ? [] : [{ task, outcome }];
});
say(
  `${rows.length} rows, ${tasks.filter(({ mutant }) => mutant !== null).length} mutants, seed ${seed}, ${lanes} at a time${journal === null ? "" : `; ${earlier.length} of ${tasks.length} runs are done`}`,
);
const minutes = () => (journal?.minutes ?? 0) + (performance.now() - startedAt) / 60_000;
if (isKept && journal === null)
  beginJournal(journalFile, { commit: commit(), seed, rows: rows.map(({ id }) => id), failed: isAgain });

await bundleApps();
const broker = await startDatabaseBroker(async () => (await import("@kule/database/migrate")).migrate);
const stopped = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopped.abort());
try {
  const left = tasks.filter((task) => !earlier.some((each) => each.task === task));
  const onDone = (each: DoneTask) => {
    if (isKept && !stopped.signal.aborted) noteInJournal(journalFile, each, minutes());
  };
  const done = [...earlier, ...(await runTasks(left, { lanes, seed, say, onDone, stopped: stopped.signal }))];
  const reports: RowReport[] = rows.map((row) => ({
    row,
    outcome: done.find((each) => each.task.row === row && each.task.mutant === null)?.outcome,
    mutants: done.flatMap(({ task, outcome }) =>
      task.row === row && task.mutant !== null ? [{ mutant: task.mutant, outcome }] : [],
    ),
  }));
  if (stopped.signal.aborted)
    fail(
      isKept
        ? "stopped; docs/reliability.md is as it was; npm run battery -- --continue runs what is left"
        : "stopped; nothing was written",
    );
  report(reports);
} finally {
  await broker.stop();
}
process.exit();

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: "boolean", default: false },
        row: { type: "string", multiple: true },
        failed: { type: "boolean", default: false },
        continue: { type: "boolean", default: false },
        seed: { type: "string" },
        mutant: { type: "string" },
        "no-mutants": { type: "boolean", default: false },
        sample: { type: "boolean", default: false },
        lanes: { type: "string", default: String(availableParallelism() + 1) },
      },
    });
    if (!values.help) return values;
    console.log(usage);
    process.exit();
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}

function report(reports: readonly RowReport[]): void {
  let failed = 0;
  for (const { row, outcome, mutants } of reports) {
    const asked = tasks.filter((task) => task.row === row);
    const judged = {
      ...row,
      mutants: row.mutants.filter((mutant) => asked.some((task) => task.mutant === mutant)),
    };
    const wasRun = asked.some(({ mutant }) => mutant === null);
    const failures = wasRun
      ? failuresOf(judged, outcome, mutants).filter(
          (text) => judged.mutants.length > 0 || text !== "it has no mutant",
        )
      : mutants.flatMap((run) => whyNotCaught(run) ?? []);
    if (failures.length > 0) failed += 1;
    console.log(`${failures.length === 0 ? "ok  " : "FAIL"} ${row.id.padEnd(4)} ${row.title}`);
    if (outcome !== undefined && "result" in outcome) {
      const recovery = p95Recovery(outcome.result);
      const figures = Object.entries(outcome.result.figures ?? {}).map(([name, value]) => `${name} ${value}`);
      console.log(
        `          ${[`${outcome.result.cases} cases`, ...(recovery === null ? [] : [`p95 recovery ${recovery.toFixed(1)} s`]), ...figures, `${Math.round(outcome.seconds)} s`].join("; ")}`,
      );
    }
    for (const run of mutants)
      if (whyNotCaught(run) === null && "result" in run.outcome)
        console.log(
          `          without ${run.mutant.removes}: caught in ${Math.round(run.outcome.seconds)} s, e.g. ${run.outcome.result.violations.find((text) => run.mutant.expects.test(text))?.slice(0, 200)}`,
        );
    for (const failure of failures.slice(0, 20)) console.log(`     - ${failure.slice(0, 2000)}`);
    if (failures.length > 20) console.log(`     and ${failures.length - 20} more`);
    if (failures.length > 0) console.log(`     repeat: npm run battery -- --row ${row.id} --seed ${seed}`);
  }
  console.log(`${reports.length - failed} of ${reports.length} rows passed`);
  if (isKept) {
    const scoreboard = scoreboardOf(reports, {
      seed,
      commit: commit(),
      date: new Date().toISOString().slice(0, 10),
      minutes: minutes(),
      machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`,
    });
    const whole = isAgain
      ? withRowsAgain(readScoreboard(readFileSync(scoreboardFile, "utf8")), scoreboard, allRows)
      : scoreboard;
    writeFileSync(scoreboardFile, renderScoreboard(whole));
    rmSync(journalFile, { force: true });
    console.log("docs/reliability.md is written");
  }
  process.exitCode = failed > 0 ? 1 : 0;
}

function chosenRows(all: Row[]): Row[] {
  if (journal !== null) return journal.rows.map((id) => rowNamed(all, id));
  const named = values.row === undefined ? all : values.row.map((id) => rowNamed(all, id));
  if (!values.failed) return named;
  const left = rowsLeft(readScoreboard(readFileSync(scoreboardFile, "utf8")), named);
  return left.length > 0 ? left : fail("docs/reliability.md has all of these as passed");
}

/** The interrupted run; its rows and its seed are this one's. */
function journalToContinue() {
  if (!isWhole || values.failed || values.row !== undefined || values.seed !== undefined)
    fail("--continue goes with no other option than --lanes");
  const found = readJournal(journalFile);
  if (found === null) return fail("there is no interrupted run; npm run battery begins one");
  if (found.commit !== commit())
    fail(`the interrupted run is of commit ${found.commit}, and this is ${commit()}; check that one out`);
  return found;
}

function rowNamed(all: readonly Row[], id: string): Row {
  const row = all.find((each) => each.id.toLowerCase() === id.toLowerCase());
  return row ?? fail(`there is no row ${id}; there are: ${all.map((each) => each.id).join(", ")}`);
}

function chosenTasks(): Task[] {
  const all = tasksOf(rows, values.sample ? "sample" : "full");
  const { mutant } = values;
  if (mutant !== undefined) {
    const chosen = all.filter((task) => task.mutant?.name === mutant);
    const known = rows.flatMap((row) => row.mutants.map(({ name }) => name));
    return chosen.length > 0 ? chosen : fail(`no mutant ${mutant}; there are: ${known.join(", ")}`);
  }
  return values["no-mutants"] ? all.filter((task) => task.mutant === null) : all;
}

function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/reliability.md");
    return `${git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : "+"}`;
  } catch {
    return "unknown";
  }
}

function fail(text: string): never {
  console.error(text);
  process.exit(2);
}
