import { expect, test } from "vitest";
import { countTests, listSkippedSuites, type VitestReport } from "./vitest-report.ts";

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
