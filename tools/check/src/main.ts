// `npm run check`: all static checks; `npm run check -- types layers`: those whose names contain one of the words.

import { resolve } from "node:path";
import { listChecks } from "./checks.ts";
import { describeOutcome, runChecks } from "./run-checks.ts";

const root = resolve(import.meta.dirname, "../../..");
const words = process.argv.slice(2);
const all = listChecks(root);
const chosen = words.length === 0 ? all : all.filter(({ name }) => words.some((word) => name.includes(word)));
if (chosen.length === 0) {
  console.log(
    `No check has ${words.join(" or ")} in its name. There are: ${all.map(({ name }) => name).join(", ")}`,
  );
  process.exit(1);
}
const outcomes = await runChecks(root, chosen, (outcome) => console.log(describeOutcome(outcome)));
const failed = outcomes.filter((outcome) => !outcome.succeeded);
if (failed.length > 0) {
  console.log(
    `${failed.length} of ${outcomes.length} checks failed: ${failed.map(({ name }) => name).join(", ")}`,
  );
  process.exitCode = 1;
}
