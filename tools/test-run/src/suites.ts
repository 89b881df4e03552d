// The suites as tasks of Turborepo (turbo.json): a task whose inputs did not change is taken from the cache with its report.

import { globSync, readFileSync } from "node:fs";
import { dirname, join, matchesGlob } from "node:path";
import { LONG_TESTS } from "./long-tests.ts";

/** Where a task leaves its report, below its package or the root. */
export const RESULTS = ".test-results";
/** The tasks of every change, and those that `--all` adds. */
export const QUICK_TASKS = ["static", "test", "test:tree"] as const;
export const LONG_TASKS = ["test:system", "test:browser", "test:samples", "test:long"] as const;

/** The test files of each long task, relative to the root; all others are the quick ones. */
export const LONG_FILES: Readonly<Record<(typeof LONG_TASKS)[number], readonly string[]>> = {
  "test:system": ["{packages/testing,packages/battery,apps/console}/src/system/**/*.test.ts"],
  "test:browser": ["apps/console/src/*.browser.test.ts"],
  "test:samples": ["packages/battery/src/samples.test.ts"],
  "test:long": Object.keys(LONG_TESTS),
};

/** `file` is relative to the root. */
export const isLongFile = (file: string): boolean =>
  Object.values(LONG_FILES).some((patterns) => patterns.some((pattern) => matchesGlob(file, pattern)));

/** One run of vitest: a project of vitest.config.ts, and the folders whose files it takes. */
export interface Suite {
  readonly project: string;
  readonly folders: readonly string[];
}

/** Suites that read files all over the tree: tasks of the root, which depend on every file. */
const OF_THE_TREE: Readonly<Record<string, Suite>> = {
  "test:tree": { project: "unit", folders: ["tools/", "packages/testing/", "packages/battery/"] },
  "test:long": { project: "long", folders: [] },
  "test:browser": { project: "browser", folders: [] },
  "test:system": { project: "system", folders: [] },
  "test:samples": { project: "battery", folders: [] },
};

/** The suite of a task; `folder` is the package's, relative to the root. Null when there is none. */
export function suiteOf(task: string, folder: string): Suite | null {
  if (folder === "") return OF_THE_TREE[task] ?? null;
  return task === "test" ? { project: "unit", folders: [`${folder}/`] } : null;
}

/** Folders of packages with a `test` task of their own, relative to the root. */
export function testedPackages(root: string): string[] {
  return globSync("{apps,packages,tools}/*/package.json", { cwd: root })
    .filter((manifest) => {
      const { scripts } = JSON.parse(readFileSync(join(root, manifest), "utf8")) as {
        scripts?: Record<string, string>;
      };
      return scripts?.test !== undefined;
    })
    .map(dirname)
    .sort();
}
