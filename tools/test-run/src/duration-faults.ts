import { LARGEST_UNLISTED_SHARE, LONGEST_UNLISTED_SECONDS } from "./long-tests.ts";
import { type Slow, slowestFiles, type VitestReport } from "./vitest-report.ts";

/** The test files that belong to the long tests by their duration and are not listed there, slowest first. */
export function filesTooLong(report: VitestReport, isListed: (file: string) => boolean): Slow[] {
  const files = slowestFiles(report, Number.POSITIVE_INFINITY);
  const all = files.reduce((sum, { seconds }) => sum + seconds, 0);
  const longest = Math.max(LONGEST_UNLISTED_SECONDS, LARGEST_UNLISTED_SHARE * all);
  return files.filter(({ name, seconds }) => seconds > longest && !isListed(name));
}

/**
 * The reports of all quick suites, or none: a run that was ended early, or has not ended yet, has those of some, and a share of
 * these says nothing.
 *
 * @param reports undefined for a suite without one
 */
export function wholeRun(reports: readonly (VitestReport | undefined)[]): readonly VitestReport[] {
  const there = reports.filter((report) => report !== undefined);
  return there.length === reports.length ? there : [];
}

/**
 * What is wrong with how long the tests of `npm test` take, with the fix.
 *
 * @param reports of the quick suites, paths relative to the root.
 * @param listed the long tests' paths, relative to the root.
 */
export function durationFaults(
  reports: readonly VitestReport[],
  listed: readonly string[],
  exists: (file: string) => boolean,
): string[] {
  const merged = { testResults: reports.flatMap(({ testResults }) => testResults) };
  const slow = filesTooLong(merged, (file) => listed.includes(file));
  return [
    ...slow.map(
      ({ name, seconds }) =>
        `${name} took ${seconds.toFixed(0)} s in the last \`npm test\` (more than ${LONGEST_UNLISTED_SECONDS} s and ${LARGEST_UNLISTED_SHARE * 100} % of all files): make it quicker, or list it in tools/test-run/src/long-tests.ts with its reason.`,
    ),
    ...listed
      .filter((file) => !exists(file))
      .map(
        (file) => `tools/test-run/src/long-tests.ts lists ${file}, which does not exist: take the line out.`,
      ),
  ];
}
