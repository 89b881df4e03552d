import { LONGEST_UNLISTED_SECONDS } from "./long-tests.ts";
import { slowestFiles, type VitestReport } from "./vitest-report.ts";

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
  const slow = slowestFiles(merged, Number.POSITIVE_INFINITY).filter(
    ({ name, seconds }) => seconds > LONGEST_UNLISTED_SECONDS && !listed.includes(name),
  );
  return [
    ...slow.map(
      ({ name, seconds }) =>
        `${name} took ${seconds.toFixed(0)} s in the last \`npm test\` (more than ${LONGEST_UNLISTED_SECONDS} s): make it quicker, or list it in tools/test-run/src/long-tests.ts with its reason. If the machine was busy, run \`npm test\` again.`,
    ),
    ...listed
      .filter((file) => !exists(file))
      .map(
        (file) => `tools/test-run/src/long-tests.ts lists ${file}, which does not exist: take the line out.`,
      ),
  ];
}
