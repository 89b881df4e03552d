import { systemRuntime } from "@kule/proxmox/runtime";
import { expect, test } from "vitest";
import { NotPlanned, planOnly } from "./plan-only.ts";
import type { Job, Program, World } from "./program.ts";

type Step = { readonly do: "tag" };

const world = { runtime: systemRuntime } as unknown as World;
const job = { id: "job_1", payload: { kind: "ServerStop" } } as unknown as Job<never>;
const { signal } = new AbortController();

/** A program that observes like this, and would tag whatever it sees. */
function program(observe: Program<"ServerStop", string, Step>["observe"]) {
  const applied: string[] = [];
  const made: Program<"ServerStop", string, Step> = {
    kind: "ServerStop",
    observe,
    plan: (_, seen) => (seen === "tagged" ? [] : [{ do: "tag" }]),
    apply: { tag: async () => void applied.push("tag") },
    observed: () => ({ power_state: "off" }),
  };
  return { made, applied };
}

test("a plan is the names of its steps, and none is applied", async () => {
  const { made, applied } = program(async () => "untagged");
  expect(await planOnly(made, job, world, { signal })).toEqual(["tag"]);
  expect(await planOnly(program(async () => "tagged").made, job, world, { signal })).toEqual([]);
  expect(applied).toEqual([]);
});

test("what can only be observed by a change is not planned, also when the program takes that for silence", async () => {
  const { made } = program(async (_, __, effect) => {
    await effect.beforeCall();
    return "tagged";
  });
  await expect(planOnly(made, job, world, { signal })).rejects.toThrow(NotPlanned);
  const { made: lenient } = program(async (_, __, effect) => {
    await effect.beforeCall().catch(() => {});
    return "silent";
  });
  await expect(planOnly(lenient, job, world, { signal })).rejects.toThrow(/command in the guest/);
});

test("what somebody works on at that moment is not waited for", async () => {
  const { made } = program(async (_, __, effect) => {
    await effect.stillRunning(1_000);
    return "tagged";
  });
  await expect(planOnly(made, job, world, { signal })).rejects.toThrow(/still being done/);
});
