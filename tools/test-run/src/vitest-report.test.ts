import { expect, test } from "vitest";
import {
  countTests,
  listSkippedSuites,
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

test("a file that breaks before its tests are known is a failed test", () => {
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

test("a skipped suite gives the reason that was noted, or else its title", () => {
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
