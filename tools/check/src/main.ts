import { resolve } from "node:path";
import { listChecks } from "./checks.ts";
import { describeOutcome, runChecks } from "./run-checks.ts";

const root = resolve(import.meta.dirname, "../../..");
const outcomes = await runChecks(root, listChecks(root), (outcome) => console.log(describeOutcome(outcome)));
const failed = outcomes.filter((outcome) => !outcome.succeeded);
if (failed.length > 0) {
  console.log(
    `${failed.length} of ${outcomes.length} checks failed: ${failed.map(({ name }) => name).join(", ")}`,
  );
  process.exitCode = 1;
}
