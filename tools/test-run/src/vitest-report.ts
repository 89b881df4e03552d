/** The parts of vitest's JSON report that are read here. */
export interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { status: string; fullName: string; ancestorTitles: string[] }[];
  }[];
}

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export interface SkippedSuite {
  suite: string;
  count: number;
  reason: string;
}

/** A line of the log that `requirePart` writes (packages/testing/src/parts.ts). */
export interface SkipNote {
  suite: string;
  part: string;
  reason: string;
}

/**
 * Counts tests. A file that broke before its tests were known counts as one failed test, and so does a run
 * that ended badly without any failed test (an error after the tests, a killed worker).
 */
export function countTests(report: VitestReport | undefined, exitCode: number | null): Counts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report?.testResults ?? []) {
    const before = counts.failed;
    for (const { status } of file.assertionResults) {
      if (status === "passed") counts.passed += 1;
      else if (status === "failed") counts.failed += 1;
      else counts.skipped += 1;
    }
    if (file.status === "failed" && counts.failed === before) counts.failed += 1;
  }
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** Every file with skipped tests, with the reason that was noted for it or else the titles of what it skips. */
export function listSkippedSuites(report: VitestReport | undefined, notes: SkipNote[]): SkippedSuite[] {
  return (report?.testResults ?? []).flatMap(({ name, assertionResults }) => {
    const skipped = assertionResults.filter(({ status }) => status !== "passed" && status !== "failed");
    if (skipped.length === 0) return [];
    const reasons = notes
      .filter(({ suite }) => suite === name)
      .map(({ part, reason }) => `${part}: ${reason}`);
    const titles = [...new Set(skipped.map(({ ancestorTitles, fullName }) => ancestorTitles[0] || fullName))];
    const reason =
      reasons.length > 0 ? [...new Set(reasons)].join("; ") : `not run here: ${titles.join(", ")}`;
    return [{ suite: name, count: skipped.length, reason }];
  });
}
