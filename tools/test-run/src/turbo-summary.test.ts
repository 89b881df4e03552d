import { expect, test } from "vitest";
import { readTurboSummary } from "./turbo-summary.ts";

test("tasks with a command are read, with what came from the cache and what failed", () => {
  const summary = {
    tasks: [
      {
        task: "test",
        directory: "apps/api",
        command: "node x",
        cache: { status: "HIT" },
        execution: { exitCode: 0 },
      },
      {
        task: "static",
        directory: "",
        command: "node y",
        cache: { status: "MISS" },
        execution: { exitCode: null },
      },
      {
        task: "sources",
        directory: "apps/api",
        command: "<NONEXISTENT>",
        cache: { status: "MISS" },
        execution: { exitCode: 0 },
      },
    ],
  };
  expect(readTurboSummary(JSON.stringify(summary))).toEqual([
    { task: "test", folder: "apps/api", fromCache: true, exitCode: 0 },
    { task: "static", folder: "", fromCache: false, exitCode: 1 },
  ]);
});
