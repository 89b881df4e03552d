// `npm test`: the static checks and the suites, as tasks of Turborepo, then one count of all of it.
//   npm test               what every change is tried with
//   npm test -- --all      all suites, as CI runs them
//   npm test -- <words>    the test files whose paths contain one of these, never from the cache, and no static checks

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { filesTooLong } from "./duration-faults.ts";
import { machineParts } from "./machine-parts.ts";
import { isLongFile, LONG_TASKS, QUICK_TASKS, RESULTS, testedPackages } from "./suites.ts";
import { readTurboSummary, type TaskRun } from "./turbo-summary.ts";
import {
  countTests,
  failedTests,
  filesWithoutReport,
  listSkippedSuites,
  relativeReport,
  type SkipNote,
  type Slow,
  slowestFiles,
  slowestTests,
  type VitestReport,
} from "./vitest-report.ts";

/** How many of the slowest files and tests are named. */
const SLOWEST = 10;
/** Of each failed test so many lines, each of so many characters, are repeated at the end. */
const FAILURE_LINES = 12;
const FAILURE_CHARACTERS = 300;

const root = resolve(import.meta.dirname, "../../..");
const bin = join(root, "node_modules/.bin");
const total = { passed: 0, failed: 0, skipped: 0 };
const words = process.argv.slice(2).filter((word) => word !== "--all");
const isAll = process.argv.includes("--all");

for (const folder of ["", ...testedPackages(root)])
  rmSync(join(root, folder, RESULTS), { recursive: true, force: true });
if (words.length > 0) await runFiles(words);
else {
  const runs = [...(await runTasks(QUICK_TASKS)), ...(isAll ? await runTasks(LONG_TASKS) : [])];
  countRuns(runs);
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
// Not process.exit(): what is written to a pipe must get out first.
process.exitCode = total.failed === 0 ? 0 : 1;

/** Two tasks in parallel: most of them wait half of the time. */
async function runTasks(tasks: readonly string[]): Promise<TaskRun[]> {
  const folder = join(root, ".turbo/runs");
  const before = new Set(globSync("*.json", { cwd: folder }));
  await run(
    "turbo",
    [
      "run",
      ...tasks,
      ...["--concurrency=2", "--continue=always", "--env-mode=loose", "--summarize"],
      ...["--output-logs=new-only", "--log-order=stream", "--log-prefix=task", "--no-update-notifier"],
    ],
    { KULE_TEST_MACHINE: machineParts() },
  );
  const [summary] = globSync("*.json", { cwd: folder }).filter((file) => !before.has(file));
  if (summary === undefined) return [];
  const text = readFileSync(join(folder, summary), "utf8");
  rmSync(join(folder, summary));
  return readTurboSummary(text);
}

/** Some test files, run at once by one vitest. */
async function runFiles(filters: readonly string[]): Promise<void> {
  const folder = join(root, RESULTS);
  mkdirSync(folder, { recursive: true });
  const [report, skips] = [join(folder, "files.json"), join(folder, "files.skips")];
  const exitCode = await run(
    "vitest",
    ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...filters],
    { KULE_TEST_SKIP_LOG: skips },
  );
  const absolute = readJson<VitestReport>(report);
  const counted = absolute === undefined ? undefined : relativeReport(absolute, root);
  addReport(counted, exitCode, readNotes(skips));
}

async function run(program: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  const child = spawn(join(bin, program), args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  process.on("SIGINT", () => {});
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}

function countRuns(runs: readonly TaskRun[]): void {
  const reports: VitestReport[] = [];
  for (const { task, folder, exitCode } of runs) {
    const file = join(root, folder, RESULTS, task.replaceAll(":", "-"));
    if (task === "static") {
      const counts = readJson<{ passed: number; failed: number }>(`${file}.json`);
      total.passed += counts?.passed ?? 0;
      total.failed += counts?.failed ?? 1;
      continue;
    }
    const report = readJson<VitestReport>(`${file}.json`);
    addReport(report, exitCode, readNotes(`${file}.skips`));
    if (report !== undefined) reports.push(report);
  }
  const merged = { testResults: reports.flatMap(({ testResults }) => testResults) };
  const expected = globSync("{apps,packages,tools}/*/src/**/*.test.{ts,tsx}", { cwd: root }).filter(
    (file) => isAll || !isLongFile(file),
  );
  const forgotten = filesWithoutReport(merged, expected);
  for (const file of forgotten) console.log(`not run, and counted as failed: ${file}`);
  total.failed += forgotten.length;
  list("The slowest files", slowestFiles(merged, SLOWEST));
  list("The slowest tests", slowestTests(merged, SLOWEST));
  const tooLong = filesTooLong(merged, isLongFile);
  if (tooLong.length > 0)
    list("Too long for a file that is not in tools/test-run/src/long-tests.ts", tooLong);
  const cached = runs.filter(({ fromCache }) => fromCache);
  if (cached.length > 0) {
    heading("From the cache, since nothing that they depend on has changed");
    for (const { task, folder } of cached) console.log(`  ${[folder, task].filter(Boolean).join(" ")}`);
  }
  const failures = failedTests(merged, FAILURE_LINES, FAILURE_CHARACTERS);
  if (failures.length > 0) heading("Failed");
  for (const { file, test, message } of failures)
    console.log(`  ${[file, test].filter(Boolean).join(": ")}\n${message.replaceAll(/^/gm, "    ")}`);
  console.log();
}

function addReport(report: VitestReport | undefined, exitCode: number, notes: SkipNote[]): void {
  const counts = countTests(report, exitCode);
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
  for (const { suite, count, reason } of listSkippedSuites(
    report,
    notes.map((note) => ({ ...note, suite: relative(root, resolve(root, note.suite)) })),
  ))
    console.log(`skipped ${count} in ${suite}: ${reason}`);
}

function heading(text: string): void {
  console.log(`\n${text}`);
}

function list(title: string, slow: readonly Slow[]): void {
  heading(title);
  for (const { name, seconds } of slow) console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch {
    return undefined;
  }
}

function readNotes(path: string): SkipNote[] {
  try {
    const lines = readFileSync(path, "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as SkipNote);
  } catch {
    return [];
  }
}
