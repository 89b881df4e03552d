import type { Schemas } from "@kule/contract/schemas";
import { expect, test } from "vitest";
import { linesByPhase, phaseStates } from "./phase-states.ts";

const states = (
  status: Parameters<typeof phaseStates>[0]["status"],
  phase: Parameters<typeof phaseStates>[0]["phase"],
) => Object.values(phaseStates({ status, phase }));

test("phases before the current one are done, and phases after it are open", () => {
  expect(states("queued", null)).toEqual(["open", "open", "open", "open"]);
  expect(states("running", "apply")).toEqual(["done", "done", "busy", "open"]);
  expect(states("succeeded", "verify")).toEqual(["done", "done", "done", "done"]);
  expect(states("failed", "apply")).toEqual(["done", "done", "failed", "open"]);
  expect(states("cancelled", "plan")).toEqual(["done", "stopped", "open", "open"]);
});

const step = (seq: number, attempt: number, name: string, more: Partial<Schemas["JobStep"]> = {}) => ({
  seq,
  attempt,
  phase: "apply" as const,
  name,
  status: "succeeded" as const,
  message: null,
  started_at: "2026-11-21T05:13:00.000Z",
  finished_at: null,
  external_ref: null,
  ...more,
});
const shown = (steps: Schemas["JobStep"][]) =>
  Object.fromEntries(
    [...linesByPhase({ steps }, {})].map(([phase, lines]) => [phase, lines.map(({ text }) => text)]),
  );

test("steps are those of the newest attempt, in their order", () => {
  expect(shown([step(2, 2, "start"), step(1, 1, "old"), step(1, 2, "clone_disk")])).toEqual({
    apply: ["clone disk", "start"],
  });
  expect(shown([])).toEqual({});
});

test("a step that only marks the start of its phase is shown for its findings, or when it failed", () => {
  expect(
    shown([
      step(1, 1, "observe", { phase: "observe", status: "running" }),
      step(2, 1, "plan", { phase: "plan", message: "clone, resize" }),
      step(3, 1, "verify", { phase: "verify", status: "failed" }),
    ]),
  ).toEqual({ observe: [], plan: ["clone, resize"], verify: ["verify"] });
});
