import type { Exchange } from "@kule/testing/rig/http-fault-proxy";
import { describe, expect, test } from "vitest";
import { lostClaims, wrongAnswers } from "./exchange-answers.ts";

type Given = { readonly status: number; readonly body?: object };

function exchange(path: string, request: object, answers: readonly Given[], returned = 0): Exchange {
  return {
    number: 1,
    method: "POST",
    path: `/api/v1/agent/jobs/${path}`,
    requestBody: JSON.stringify(request),
    fault: "duplicate",
    answers: answers.map(({ status, body }) => ({ status, body: JSON.stringify(body ?? {}) })),
    returned,
    cameAtMs: 0,
    endedAtMs: 1,
  };
}
const report = (answers: readonly Given[], returned = 0, more: object = {}) =>
  exchange("job_1/steps", { epoch: 1, seq: 1, ...more }, answers, returned);
/** A claim that was answered this job at this second; its reply is lost unless it is said to be read. */
const claim = (second: number, job: { id: string; epoch: number }, isRead = false): Exchange => ({
  ...exchange("claim", { claim_id: "c1" }, [{ status: 200, body: { job } }]),
  returned: isRead ? 0 : null,
  cameAtMs: second * 1000,
  endedAtMs: second * 1000,
});

describe("answers to copies", () => {
  test.each([
    ["one report, told the same", [report([{ status: 200 }, { status: 200 }])]],
    ["a copy that came when the job was over", [report([{ status: 200 }, { status: 409 }])]],
    ["a report that was refused", [report([{ status: 409 }, { status: 409 }])]],
    ["a control plane that is away", [report([{ status: 503 }, { status: 200 }])]],
  ])("are right for %s", (_, exchanges) => {
    expect(wrongAnswers(exchanges)).toEqual([]);
  });

  test.each([
    [/answered 500/, [report([{ status: 200 }, { status: 500 }])]],
    [/accepted and the agent was told 409/, [report([{ status: 200 }, { status: 409 }], 1)]],
    [
      /copies of an outcome were answered succeeded and queued/,
      [
        report(
          [
            { status: 200, body: { status: "succeeded" } },
            { status: 200, body: { status: "queued" } },
          ],
          0,
          {
            outcome: { status: "succeeded" },
          },
        ),
      ],
    ],
  ])("are wrong when %s", (what, exchanges) => {
    expect(wrongAnswers(exchanges).join("\n")).toMatch(what);
  });
});

describe("a claim whose reply was lost", () => {
  const first = { id: "job_1", epoch: 1 };
  const other = { id: "job_2", epoch: 1 };
  test("is answered the same job, however often it is lost", () => {
    const found = lostClaims([claim(0, first), claim(1, first), claim(2, first, true)], 10);
    expect([found.repeated.length, found.tooLate.length, found.violations]).toEqual([2, 0, []]);
  });
  test("may be answered another one when its lease has passed", () => {
    const found = lostClaims([claim(0, first), claim(11, other, true)], 10);
    expect([found.repeated.length, found.tooLate.length, found.violations]).toEqual([0, 1, []]);
  });
  test.each([[other], [{ id: "job_1", epoch: 2 }]])("must not be answered %j before that", (again) => {
    expect(lostClaims([claim(0, first), claim(1, again, true)], 10).violations.join()).toMatch(
      /c1 had been given job_1 .* not answered the job/,
    );
  });
});
