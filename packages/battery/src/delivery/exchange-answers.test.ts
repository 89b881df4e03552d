import type { Exchange } from "@kule/testing/rig/http-fault-proxy";
import { describe, expect, test } from "vitest";
import { wrongAnswers } from "./exchange-answers.ts";

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
const claim = (...jobs: readonly { id: string; epoch: number }[]) =>
  exchange(
    "claim",
    { claim_id: "c1" },
    jobs.map((job) => ({ status: 200, body: { job } })),
  );

describe("answers to copies", () => {
  test.each([
    ["one report, told the same", [report([{ status: 200 }, { status: 200 }])]],
    ["a copy that came when the job was over", [report([{ status: 200 }, { status: 409 }])]],
    ["a report that was refused", [report([{ status: 409 }, { status: 409 }])]],
    ["a control plane that is away", [report([{ status: 503 }, { status: 200 }])]],
    [
      "one claim, one job",
      [claim({ id: "job_1", epoch: 1 }, { id: "job_1", epoch: 1 }), claim({ id: "job_1", epoch: 2 })],
    ],
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
    [/claim c1 was answered 2 jobs/, [claim({ id: "job_1", epoch: 1 }), claim({ id: "job_2", epoch: 1 })]],
  ])("are wrong when %s", (what, exchanges) => {
    expect(wrongAnswers(exchanges).join("\n")).toMatch(what);
  });
});
