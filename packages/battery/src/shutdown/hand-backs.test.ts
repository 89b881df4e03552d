import type { JobChange, JobFacts } from "@kule/testing/rig/job-journal";
import { describe, expect, test } from "vitest";
import { handBacks } from "./hand-backs.ts";

/** "3 running 1 one": at second 3 the job runs under epoch 1, held by agent one. */
function life(job: string, ...lines: readonly string[]): JobChange[] {
  let before: JobFacts | null = null;
  return lines.map((line) => {
    const [second = "", status = "", epoch = "", agentName = null] = line.split(" ");
    const after = { status, epoch: Number(epoch), seq: 0, leaseUntilMs: null, claimId: null, agentName };
    const change: JobChange = { job, kind: "ServerCreate", atMs: Number(second) * 1000, before, after };
    before = after;
    return change;
  });
}

describe("a job of an agent that gets SIGTERM at second 5", () => {
  test.each([
    [
      "is handed back",
      life("j", "0 queued 0", "3 running 1 one", "6 queued 1 one"),
      [{ job: "j", seconds: 1 }],
    ],
    [
      "comes to its end",
      life("j", "0 queued 0", "3 running 1 one", "7 succeeded 1 one"),
      [{ job: "j", seconds: 2 }],
    ],
    [
      "is handed back as soon as it is given",
      life("j", "0 queued 0", "6 running 1 one", "6.5 queued 1 one"),
      [{ job: "j", seconds: 1.5 }],
    ],
    ["is kept", life("j", "0 queued 0", "3 running 1 one"), [{ job: "j", seconds: null }]],
    [
      "is kept until its lease passes",
      life("j", "0 queued 0", "3 running 1 one", "40 running 2 two"),
      [{ job: "j", seconds: null }],
    ],
    ["was over before that", life("j", "0 queued 0", "3 running 1 one", "4 succeeded 1 one"), []],
    ["was somebody else's", life("j", "0 queued 0", "3 running 1 two"), []],
  ])("%s", (_, changes, expected) => {
    expect(handBacks(changes, "one", 5000)).toEqual(expected);
  });
});
