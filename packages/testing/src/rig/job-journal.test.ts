import { describe, expect, test } from "vitest";
import { type JobChange, type JobFacts, jobChangeViolations } from "./job-journal.ts";

const queued: JobFacts = {
  status: "queued",
  epoch: 0,
  seq: 0,
  leaseUntilMs: null,
  claimId: null,
  agentName: null,
};
const running = (epoch: number, seq: number, leaseUntilMs: number): JobFacts => ({
  ...queued,
  status: "running",
  epoch,
  seq,
  leaseUntilMs,
});
const over = (epoch: number, seq: number, status = "succeeded"): JobFacts => ({
  ...queued,
  status,
  epoch,
  seq,
});

/** A job's life; each state a second after the one before. */
function life(...states: readonly JobFacts[]): JobChange[] {
  return states.map((after, index) => ({
    job: "job_1",
    kind: "ServerCreate",
    atMs: index * 1000,
    before: states[index - 1] ?? null,
    after,
  }));
}

describe("a job's changes", () => {
  test.each([
    ["claimed, reported and ended", life(queued, running(1, 0, 9e9), running(1, 1, 9.1e9), over(1, 1))],
    [
      "handed back and claimed again",
      life(queued, running(1, 0, 9e9), { ...queued, epoch: 1 }, running(2, 0, 9e9), over(2, 1)),
    ],
    ["claimed again after its lease", life(queued, running(1, 0, 1500), running(2, 0, 9e9), over(2, 3))],
    [
      "failed and tried again",
      life(
        queued,
        running(1, 0, 9e9),
        over(1, 1, "failed"),
        { ...queued, epoch: 1, seq: 1 },
        running(2, 0, 9e9),
        over(2, 1),
      ),
    ],
    ["cancelled while it waited", life(queued, over(0, 0, "cancelled"))],
    ["over from the start", life(over(0, 0))],
  ])("are right when it is %s", (_, changes) => {
    expect(jobChangeViolations(changes)).toEqual([]);
  });

  test.each([
    [/recorded twice/, life(queued, running(1, 0, 9e9), running(1, 1, 9.1e9), running(1, 1, 9.2e9))],
    [/claimed while another lease/, life(queued, running(1, 0, 9e9), running(2, 0, 9e9))],
    [/epoch jumped/, life(queued, running(2, 0, 9e9))],
    [/after its end/, life(queued, running(1, 0, 9e9), over(1, 1), over(1, 1, "failed"))],
    [/runs without a claim/, life({ ...queued, epoch: 1 }, running(1, 0, 9e9))],
    [/went back/, life(queued, running(1, 5, 9e9), running(1, 4, 9e9))],
    [/a claim made it/, life(queued, running(1, 0, 9e9), over(1, 0), running(2, 0, 9e9))],
  ])("are wrong when %s", (what, changes) => {
    expect(jobChangeViolations(changes).join()).toMatch(what);
  });
});
