import { describe, expect, test } from "vitest";
import { claimViolations, type JobChange, type JobFacts, jobChangeViolations } from "./job-journal.ts";

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

describe("a claim", () => {
  /** "job_1 running c1": each a second after the one before, with a lease of ten. */
  const claims = (...lines: readonly string[]) => {
    const now = new Map<string, JobFacts>();
    return lines.map((line, index): JobChange => {
      const [job = "", status = "", claimId = null] = line.split(" ");
      const before = now.get(job) ?? queued;
      const isClaim = status === "running" && claimId !== null;
      const after: JobFacts = {
        ...before,
        status,
        epoch: before.epoch + (isClaim ? 1 : 0),
        claimId: claimId ?? before.claimId,
        leaseUntilMs: status === "running" ? index * 1000 + 10_000 : null,
      };
      now.set(job, after);
      return { job, kind: "ServerCreate", atMs: index * 1000, before, after };
    });
  };
  const idle = Array.from({ length: 12 }, () => "job_9 queued");
  test.each([
    ["ended", ["job_1 running c1", "job_1 succeeded", "job_2 running c1"]],
    ["was handed back", ["job_1 running c1", "job_1 queued", "job_2 running c1"]],
    ["was lost with its lease", ["job_1 running c1", ...idle, "job_2 running c1"]],
    ["was taken over", ["job_1 running c1", "job_1 running c2", "job_2 running c1"]],
  ])("may be assigned another job when the first one %s", (_, lines) => {
    expect(claimViolations(claims(...lines))).toEqual([]);
  });
  test.each([
    [["job_1 running c1", "job_2 running c1"]],
    [["job_1 running c1", ...idle.slice(0, 9), "job_1 running", ...idle.slice(0, 5), "job_2 running c1"]],
  ])("is not assigned another one while it holds one", (lines) => {
    expect(claimViolations(claims(...lines))).toEqual(["claim c1 was given job_2 while it held job_1"]);
  });
});
