// Part of `npm run check`: refuses what the last `npm test` measured as too long, and lines of the list that name no file.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { durationFaults, wholeRun } from "./duration-faults.ts";
import { LONG_TESTS } from "./long-tests.ts";
import { RESULTS, testedPackages } from "./suites.ts";
import type { VitestReport } from "./vitest-report.ts";

const root = resolve(import.meta.dirname, "../../..");
const reports = wholeRun(
  [
    join(root, RESULTS, "test-tree.json"),
    ...testedPackages(root).map((folder) => join(root, folder, RESULTS, "test.json")),
  ].map((path) => (existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as VitestReport) : undefined)),
);
if (reports.length === 0) console.log("no durations are judged: there are no reports of a whole `npm test`");
const faults = durationFaults(reports, Object.keys(LONG_TESTS), (file) => existsSync(join(root, file)));
for (const fault of faults) console.log(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
