import { expect, test } from "vitest";
import {
  countTests,
  failedTests,
  filesWithoutReport,
  listSkippedSuites,
  relativeReport,
  slowestFiles,
  slowestTests,
  type VitestReport,
} from "./vitest-report.ts";

function file(status: string, ...statuses: string[]): VitestReport["testResults"][number] {
  return {
    name: "/kule/some.test.ts",
    status,
    assertionResults: statuses.map((one, index) => ({
      status: one,
      fullName: `suite test ${index}`,
      ancestorTitles: ["suite"],
    })),
  };
}

test("passed, failed, skipped and planned tests are counted", () => {
  const report = {
    testResults: [file("passed", "passed", "pending", "todo"), file("failed", "failed", "passed")],
  };
  expect(countTests(report, 1)).toEqual({ passed: 2, failed: 1, skipped: 2 });
});

test("a file that fails before its tests are known is a failed test", () => {
  expect(countTests({ testResults: [file("failed"), file("passed", "passed")] }, 1)).toEqual({
    passed: 1,
    failed: 1,
    skipped: 0,
  });
});

test("a file whose set-up fails, which skips its tests, is a failed test", () => {
  expect(countTests({ testResults: [file("failed", "skipped", "skipped")] }, 1)).toEqual({
    passed: 0,
    failed: 1,
    skipped: 2,
  });
});

test("a run that ends badly is never all passed", () => {
  expect(countTests({ testResults: [file("passed", "passed")] }, 1).failed).toBe(1);
  expect(countTests(undefined, null).failed).toBe(1);
});

test("a skipped suite gives the reason that was recorded, or else its title", () => {
  const report = { testResults: [file("passed", "pending", "passed")] };
  const note = { suite: "/kule/some.test.ts", part: "chromium", reason: "no Chromium found" };
  expect(listSkippedSuites(report, [note, note])).toEqual([
    { suite: "/kule/some.test.ts", count: 1, reason: "chromium: no Chromium found" },
  ]);
  expect(listSkippedSuites(report, [])[0]?.reason).toBe("not run here: suite");
});

test("the slowest files and tests are named, the slowest first", () => {
  const timed = (name: string, endTime: number, ...durations: (number | null)[]) => ({
    ...file("passed"),
    ...{ name, startTime: 1_000, endTime },
    assertionResults: durations.map((duration, index) => ({
      ...{ status: "passed", fullName: `${name} ${index}`, ancestorTitles: [], duration },
    })),
  });
  const report = { testResults: [timed("quick", 1_500, 100, null), timed("slow", 4_000, 200, 2_500)] };
  expect(slowestFiles(report, 1)).toEqual([{ name: "slow", seconds: 3 }]);
  expect(slowestTests(report, 2)).toEqual([
    { name: "slow 1", seconds: 2.5 },
    { name: "slow 0", seconds: 0.2 },
  ]);
  expect(slowestFiles(undefined, 10)).toEqual([]);
});

test("a failed test is named with the beginning of its message", () => {
  const report = {
    testResults: [file("failed", "passed", "failed"), file("failed"), file("passed", "passed")],
  };
  const [first, second] = report.testResults;
  Object.assign(first?.assertionResults[1] ?? {}, {
    failureMessages: ["\u001b[31mexpected 1 to be 2\u001b[39m\n\n  at one\n  at two"],
  });
  Object.assign(second ?? {}, { message: "a long message" });
  expect(failedTests(report, 2, 10)).toEqual([
    { file: "/kule/some.test.ts", test: "suite test 1", message: "expected 1…\n  at one" },
    { file: "/kule/some.test.ts", test: "", message: "a long mes…" },
  ]);
  expect(failedTests(undefined, 2, 10)).toEqual([]);
});

test("a test file that no report has is found", () => {
  const report = relativeReport({ testResults: [file("passed", "passed")] }, "/kule");
  expect(filesWithoutReport(report, ["some.test.ts", "other.test.ts"])).toEqual(["other.test.ts"]);
});
