import { expect, test } from "vitest";
import { durationFaults, wholeRun } from "./duration-faults.ts";

const report = (name: string, seconds: number) => ({
  testResults: [
    { name, status: "passed", startTime: 1_000, endTime: 1_000 + seconds * 1_000, assertionResults: [] },
  ],
});

test("a test file of more than 20 s is refused unless it is listed", () => {
  const reports = [report("a.test.ts", 21), report("b.test.ts", 19), report("c.test.ts", 90)];
  expect(durationFaults(reports, ["c.test.ts"], () => true)).toEqual([
    expect.stringMatching(/^a\.test\.ts took 21 s .* list it in tools\/test-run\/src\/long-tests\.ts/),
  ]);
});

test("on a slow machine, on which every file takes long, the share of a file decides", () => {
  const others = Array.from({ length: 40 }, (_, at) => report(`other-${at}.test.ts`, 25));
  const faults = durationFaults(
    [report("a.test.ts", 60), report("b.test.ts", 45), ...others],
    [],
    () => true,
  );
  expect(faults).toEqual([expect.stringMatching(/^a\.test\.ts took 60 s/)]);
});

test("nothing is judged by a run that has not the reports of all its suites", () => {
  const slow = report("a.test.ts", 21);
  expect(durationFaults(wholeRun([slow, undefined]), [], () => true)).toEqual([]);
  expect(durationFaults(wholeRun([slow, report("b.test.ts", 1)]), [], () => true)).toHaveLength(1);
});

test("a listed file that does not exist is refused", () => {
  expect(durationFaults([], ["gone.test.ts"], () => false)).toEqual([
    expect.stringContaining("lists gone.test.ts, which does not exist"),
  ]);
});
