import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const shared = {
  globalSetup: ["packages/testing/src/vitest-setup.ts"],
  // Child processes, signals and native sockets are part of many tests; threads share what these change.
  pool: "forks" as const,
  hookTimeout: 60_000,
};

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "hono/jsx" } },
  test: {
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "unit",
          include: ["{apps,packages,tools}/*/src/**/*.test.{ts,tsx}"],
          exclude: [
            "packages/testing/src/system/**",
            "apps/console/src/system/**",
            "packages/battery/src/samples.test.ts",
          ],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "system",
          include: ["{packages/testing,apps/console}/src/system/**/*.test.ts"],
          testTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "battery",
          include: ["packages/battery/src/samples.test.ts"],
          // Rows are processes of their own, most of them with several more.
          maxConcurrency: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
