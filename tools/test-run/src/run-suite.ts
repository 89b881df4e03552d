// One task of Turborepo: runs a suite with vitest and leaves its report in the package. Usage: run-suite.ts <task>

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { RESULTS, suiteOf } from "./suites.ts";
import { relativeReport, type VitestReport } from "./vitest-report.ts";

/** From so many files on, a package's tests get a second worker. */
const FILES_FOR_TWO_WORKERS = 40;

const root = resolve(import.meta.dirname, "../../..");
const folder = relative(root, process.cwd());
const task = process.argv[2] ?? "";
const suite = suiteOf(task, folder);
if (suite === null) throw new Error(`${folder === "" ? "the root" : folder} has no suite ${task}`);

const results = join(process.cwd(), RESULTS);
const name = task.replaceAll(":", "-");
mkdirSync(results, { recursive: true });
for (const ending of ["json", "skips"]) rmSync(join(results, `${name}.${ending}`), { force: true });
const files = suite.folders.flatMap((each) => globSync(`${each}src/**/*.test.{ts,tsx}`, { cwd: root }));
const workers = suite.folders.length === 1 && files.length >= FILES_FOR_TWO_WORKERS ? "2" : "1";
const vitest = spawn(
  join(root, "node_modules/.bin/vitest"),
  [
    "run",
    ...["--project", suite.project],
    ...["--reporter=default", "--reporter=json", `--outputFile.json=${join(results, `${name}.json`)}`],
    // Absolute: a relative word would match anywhere in a path.
    ...suite.folders.map((each) => join(root, each)),
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      KULE_TEST_SKIP_LOG: join(results, `${name}.skips`),
      KULE_TEST_WORKERS: process.env.KULE_TEST_WORKERS ?? workers,
    },
  },
);
process.on("SIGTERM", () => vitest.kill("SIGTERM"));
process.on("SIGINT", () => {});
const [code] = (await once(vitest, "close")) as [number | null];
makeRelative();
process.exitCode = code ?? 1;

/** A vitest that crashed has left no report; the count shows that. */
function makeRelative(): void {
  const [report, skips] = [join(results, `${name}.json`), join(results, `${name}.skips`)];
  if (existsSync(report)) {
    const absolute = JSON.parse(readFileSync(report, "utf8")) as VitestReport;
    writeFileSync(report, JSON.stringify(relativeReport(absolute, root)));
  }
  if (existsSync(skips))
    writeFileSync(skips, readFileSync(skips, "utf8").replaceAll(JSON.stringify(`${root}/`).slice(1, -1), ""));
}
