import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** The parts of vitest's JSON report that are read here. */
export interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message?: string;
    /** In milliseconds of the epoch. */
    startTime?: number;
    endTime?: number;
    assertionResults: {
      status: string;
      fullName: string;
      ancestorTitles: string[];
      /** In milliseconds; missing for what was not run. */
      duration?: number | null;
      failureMessages?: string[];
    }[];
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

/** The report with its files' paths relative to the root: one from the cache may be of another checkout. */
export function relativeReport(report: VitestReport, root: string): VitestReport {
  return {
    ...report,
    testResults: report.testResults.map((file) => ({ ...file, name: relative(root, file.name) })),
  };
}

/** Of `files` those that no report has: nothing ran them. */
export function filesWithoutReport(report: VitestReport, files: readonly string[]): string[] {
  const reported = new Set(report.testResults.map(({ name }) => name));
  return files.filter((file) => !reported.has(file)).sort();
}

export interface FailedTest {
  file: string;
  /** Empty when the file itself failed, before or after its tests. */
  test: string;
  message: string;
}

/**
 * Every failed test and file, with the beginning of its message: at most `mostLines` lines of
 * `mostCharacters` each.
 */
export function failedTests(
  report: VitestReport | undefined,
  mostLines: number,
  mostCharacters: number,
): FailedTest[] {
  const shorten = (text: string) =>
    stripVTControlCharacters(text)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(0, mostLines)
      .map((line) => (line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line))
      .join("\n");
  return (report?.testResults ?? []).flatMap(({ name, status, message = "", assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length === 0 && status === "failed")
      return [{ file: name, test: "", message: shorten(message) }];
    return failed.map(({ fullName, failureMessages = [] }) => ({
      file: name,
      test: fullName,
      message: shorten(failureMessages.join("\n")),
    }));
  });
}

export interface Slow {
  name: string;
  seconds: number;
}

/** The files that took longest, from the start of the first test or hook to the end of the last; slowest first. */
export function slowestFiles(report: VitestReport | undefined, most: number): Slow[] {
  const files = (report?.testResults ?? []).map(({ name, startTime = 0, endTime = 0 }) => ({
    name,
    seconds: (endTime - startTime) / 1000,
  }));
  return slowest(files, most);
}

/** The slowest tests, whatever ran at the same time; slowest first. */
export function slowestTests(report: VitestReport | undefined, most: number): Slow[] {
  const tests = (report?.testResults ?? []).flatMap(({ assertionResults }) =>
    assertionResults.map(({ fullName, duration }) => ({ name: fullName, seconds: (duration ?? 0) / 1000 })),
  );
  return slowest(tests, most);
}

const slowest = (all: readonly Slow[], most: number) =>
  all.toSorted((one, other) => other.seconds - one.seconds).slice(0, most);
