import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { listChecks } from "@kule/check/checks";
import { describeOutcome, runChecks } from "@kule/check/run-checks";
import {
  countTests,
  listSkippedSuites,
  type SkipNote,
  type Slow,
  slowestFiles,
  slowestTests,
  type VitestReport,
} from "./vitest-report.ts";

/** How many of the slowest files and tests are named. */
const SLOWEST = 10;

const root = resolve(import.meta.dirname, "../../..");
const scratch = mkdtempSync(join(tmpdir(), "kule-test-run-"));
const total = { passed: 0, failed: 0, skipped: 0 };

try {
  heading("Static checks");
  for (const outcome of await runChecks(
    root,
    [...listChecks(root), { name: "bundles", run: runBuild }],
    (done) => console.log(describeOutcome(done)),
  )) {
    if (outcome.succeeded) total.passed += 1;
    else total.failed += 1;
  }
  heading("Suites");
  await runSuites(process.argv.slice(2));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
// Not process.exit(): what is written to a pipe must get out first.
process.exitCode = total.failed === 0 ? 0 : 1;

function heading(text: string): void {
  console.log(`\n${text}`);
}

async function runBuild() {
  await bundleApps();
  return { succeeded: true, output: "" };
}

async function runSuites(args: string[]): Promise<void> {
  const reportFile = join(scratch, "report.json");
  const skipLog = join(scratch, "skips");
  const vitest = spawn(
    join(root, "node_modules/.bin/vitest"),
    ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`, ...args],
    { cwd: root, stdio: "inherit", env: { ...process.env, KULE_TEST_SKIP_LOG: skipLog } },
  );
  process.on("SIGTERM", () => vitest.kill("SIGTERM"));
  process.on("SIGINT", () => {});
  const [exitCode] = (await once(vitest, "close")) as [number | null];

  const report = readJson<VitestReport>(reportFile);
  const counts = countTests(report, exitCode);
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
  for (const { suite, count, reason } of listSkippedSuites(report, readNotes(skipLog))) {
    console.log(`skipped ${count} in ${relative(root, suite)}: ${reason}`);
  }
  const files = slowestFiles(report, SLOWEST).map((file) => ({ ...file, name: relative(root, file.name) }));
  list("The slowest files", files);
  list("The slowest tests", slowestTests(report, SLOWEST));
  console.log();
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
