import { expect, test } from "vitest";
import { type Change, judgeHistory } from "./job-history.ts";

const change = (more: Partial<Change>): Change => ({
  job: "job_1",
  kind: "ServerStop",
  resource: "srv_1",
  at: 1_000,
  from: "queued",
  to: "running",
  fromEpoch: 0,
  epoch: 1,
  leaseUntil: null,
  ...more,
});
const ended = (more: Partial<Change> = {}) =>
  change({ at: 2_000, from: "running", to: "succeeded", fromEpoch: 1, epoch: 1, leaseUntil: 9_000, ...more });

test("a job that is claimed, lost, taken over and ended is right", () => {
  const found = judgeHistory([
    change({}),
    change({ at: 8_000, from: "running", fromEpoch: 1, epoch: 2, leaseUntil: 7_000 }),
    ended({ at: 9_000, fromEpoch: 2, epoch: 2 }),
  ]);
  expect(found).toMatchObject({ violations: [], done: 1, takenOver: 1 });
  expect([...found.attemptsEnded]).toEqual(["job_1/2"]);
});

test.each<[string, Change[], RegExp]>([
  [
    "a claim while the lease runs",
    [change({}), change({ from: "running", fromEpoch: 1, epoch: 2, leaseUntil: 1_500 })],
    /two holders/,
  ],
  ["two ends", [change({}), ended(), ended({ from: "succeeded" })], /had ended/],
  ["a claim that does not count", [change({ epoch: 0 })], /epoch 0 to 0/],
  ["two jobs of one server at once", [change({}), change({ job: "job_2" })], /began while job_1 ran/],
])("finds %s", (_what, changes, expected) => {
  expect(judgeHistory(changes).violations.join("\n")).toMatch(expected);
});
