// One task of Turborepo: the static checks and the apps' bundles, with their count as its report.

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { listChecks } from "@kule/check/checks";
import { describeOutcome, runChecks } from "@kule/check/run-checks";
import { RESULTS } from "./suites.ts";

const root = resolve(import.meta.dirname, "../../..");
const bundles = {
  name: "bundles",
  run: async () => {
    await bundleApps();
    return { succeeded: true, output: "" };
  },
};
const outcomes = await runChecks(root, [...listChecks(root), bundles], (done) =>
  console.log(describeOutcome(done)),
);
const passed = outcomes.filter(({ succeeded }) => succeeded).length;
mkdirSync(join(root, RESULTS), { recursive: true });
writeFileSync(
  join(root, RESULTS, "static.json"),
  JSON.stringify({ passed, failed: outcomes.length - passed }),
);
process.exitCode = passed === outcomes.length ? 0 : 1;
