import { expect, test } from "vitest";
import { fakeJob } from "../../testing/fake-records.ts";
import { phaseStates, stepsByPhase } from "./phase-states.ts";

const states = (
  status: Parameters<typeof phaseStates>[0]["status"],
  phase: Parameters<typeof phaseStates>[0]["phase"],
) => Object.values(phaseStates({ status, phase }));

test("a tower grows from the ground: what is behind is done, what is ahead is open", () => {
  expect(states("queued", null)).toEqual(["open", "open", "open", "open"]);
  expect(states("running", "apply")).toEqual(["done", "done", "busy", "open"]);
  expect(states("succeeded", "verify")).toEqual(["done", "done", "done", "done"]);
  expect(states("failed", "apply")).toEqual(["done", "done", "failed", "open"]);
  expect(states("cancelled", "plan")).toEqual(["done", "stopped", "open", "open"]);
});

test("steps are those of the newest attempt, in their order", () => {
  const step = (seq: number, attempt: number, name: string) => ({
    seq,
    attempt,
    phase: "apply" as const,
    name,
    status: "succeeded" as const,
    message: null,
    started_at: "2026-11-21T05:13:00.000Z",
    finished_at: null,
    external_ref: null,
  });
  const job = {
    ...fakeJob("ServerCreate", "srv_1", "Ada"),
    steps: [step(2, 2, "start"), step(1, 1, "old"), step(1, 2, "clone")],
  };
  expect(
    stepsByPhase(job)
      .get("apply")
      ?.map(({ name }) => name),
  ).toEqual(["clone", "start"]);
  expect(stepsByPhase({ steps: [] }).size).toBe(0);
});
