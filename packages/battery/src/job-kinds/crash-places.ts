import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JobKind } from "@kule/contract/schemas";
import { type Course, describeJob } from "./course.ts";
import type { RegionScene } from "./region-scene.ts";

/** One place at which an agent is killed or stopped: a crash point's name, and which time it is reached. */
export type CrashPlace = { readonly kind: JobKind; readonly name: string; readonly time: number };

/** An agent's repeated calls for one job; its other calls are made before it has one. */
const REPORTS = /^agent\.report\./;

/** An agent's calls at its own intervals, whether it has a job or not. */
const BESIDE_JOBS = /^agent\.(?:health|inventory|load-balancers)\./;

/** Where an agent has no job yet: the same for every kind. */
const WITHOUT_JOB = /^agent\.(?:me|health|inventory|load-balancers)\.|^agent\.claim\.before-send/;

/**
 * The crash points that a healthy agent passes on one job of each kind, learnt from the agent itself: a new step is
 * covered the day it is written.
 */
export async function traceCrashPlaces<Of>(
  scene: RegionScene,
  all: readonly Of[],
  courseOf: (of: Of) => Course,
): Promise<Map<Of, CrashPlace[]>> {
  const directory = mkdtempSync(join(tmpdir(), "kule-trace-"));
  const file = join(directory, "trace");
  const agent = scene.world.startAgent({ BATTERY_TRACE: file, KULE_AGENT_CONCURRENCY: "1" });
  try {
    const places = new Map<Of, CrashPlace[]>();
    for (const of of all) {
      const { kind, begin, cause } = courseOf(of);
      const subject = await begin(scene, (each, kind) => scene.work(each, kind));
      const before = await untilIdle(file, 0);
      await cause(scene, subject);
      const job = await scene.work(subject, kind);
      if (job.status !== "succeeded") throw new Error(`${kind} ${describeJob(job)}\n${agent.output()}`);
      const after = await untilIdle(file, before.length);
      places.set(of, placesOf(kind, before, after.slice(before.length)));
    }
    return places;
  } finally {
    await agent.end();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** An agent of one job at a time that has sent its next claim has nothing to do. */
async function untilIdle(file: string, seen: number): Promise<string[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const lines = linesOf(file);
    if (
      lines.length > seen &&
      lines.findLast((line) => !BESIDE_JOBS.test(line))?.endsWith("claim.before-send")
    )
      return lines;
    if (performance.now() > deadline)
      throw new Error(`the agent does not come to rest: ${lines.slice(-3).join(", ")}`);
    await delay(50);
  }
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** The places of one job in a trace: its own steps and its reports by how often they are reached, other calls once. */
export function placesOf(kind: JobKind, before: readonly string[], during: readonly string[]): CrashPlace[] {
  const times = new Map<string, number>();
  const inJob = during
    .filter((name) => name.startsWith(`${kind}.`) || REPORTS.test(name))
    .map((name) => {
      const time = (times.get(name) ?? 0) + 1;
      times.set(name, time);
      return { kind, name, time };
    });
  const around = new Set(
    [...before, ...during].filter((name) => name.startsWith("agent.") && !REPORTS.test(name)),
  );
  return [...[...around].map((name) => ({ kind, name, time: 1 })), ...inJob];
}

/** The step that a crash point belongs to; calls of the agent outside of steps count as one. */
export function stepOf({ name }: CrashPlace): string {
  return name.slice(0, name.lastIndexOf("."));
}

/** About a share of the crash points, at random, and at least one of each step. */
export function sampleOfEachStep(
  places: readonly CrashPlace[],
  share: number,
  random: () => number,
): CrashPlace[] {
  return [...Map.groupBy(places, stepOf).values()].flatMap((group) => {
    const left = [...group];
    const count = Math.max(1, Math.round(group.length * share));
    return Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)).flat();
  });
}

/** Whether an agent holds a job of the kind there. */
export function holdsJob({ name }: CrashPlace): boolean {
  return !WITHOUT_JOB.test(name);
}

/** Groups of at most `size` places of one kind, as even as can be: a small one takes as long as a large one. */
export function batchesOf(places: readonly CrashPlace[], size: number): CrashPlace[][] {
  const count = Math.ceil(places.length / size);
  const from = (index: number) => Math.ceil((index * places.length) / count);
  return Array.from({ length: count }, (_, index) => places.slice(from(index), from(index + 1)));
}
