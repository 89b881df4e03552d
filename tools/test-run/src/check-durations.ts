// Part of `npm run check`: refuses what the last `npm test` measured as too long, and lines of the list that name no file.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { durationFaults } from "./duration-faults.ts";
import { LONG_TESTS } from "./long-tests.ts";
import { RESULTS, testedPackages } from "./suites.ts";
import type { VitestReport } from "./vitest-report.ts";

const root = resolve(import.meta.dirname, "../../..");
const reports = [
  join(root, RESULTS, "test-tree.json"),
  ...testedPackages(root).map((folder) => join(root, folder, RESULTS, "test.json")),
]
  .filter((path) => existsSync(path))
  .map((path) => JSON.parse(readFileSync(path, "utf8")) as VitestReport);
const faults = durationFaults(reports, Object.keys(LONG_TESTS), (file) => existsSync(join(root, file)));
for (const fault of faults) console.log(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
