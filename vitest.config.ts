import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LONG_FILES } from "./tools/test-run/src/suites.ts";

const shared = {
  globalSetup: ["packages/testing/src/vitest-setup.ts"],
  // Child processes, signals and native sockets are part of many tests; threads share what these change.
  pool: "forks" as const,
  hookTimeout: 60_000,
  // The default of a second is shorter than a busy machine takes for a page or a process.
  expect: { poll: { timeout: 15_000 } },
};
const {
  "test:system": system,
  "test:browser": browser,
  "test:samples": samples,
  "test:long": long,
} = LONG_FILES;

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "hono/jsx" } },
  test: {
    maxWorkers: Number(process.env.KULE_TEST_WORKERS ?? Math.max(2, availableParallelism() - 1)),
    // What is transformed once is taken from node_modules/.vitest by every other process and run.
    fsModuleCache: true,
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "unit",
          // Files of one worker share its modules: importing the API takes three seconds, often more than a file's tests.
          isolate: false,
          include: ["{apps,packages,tools}/*/src/**/*.test.{ts,tsx}"],
          exclude: Object.values(LONG_FILES).flat(),
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "long",
          include: [...long],
          testTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "browser",
          include: [...browser],
          testTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "system",
          include: [...system],
          testTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "battery",
          include: [...samples],
          // Rows are processes of their own, most of them with several more.
          maxConcurrency: 2,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
