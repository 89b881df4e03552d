import { setTimeout as delay } from "node:timers/promises";
import type { TestProcess } from "@kule/testing/child-process";
import type { Course } from "./course.ts";
import type { CrashPlace } from "./crash-places.ts";
import type { RegionScene } from "./region-scene.ts";
import { brokenInvariants, type JobEndRow, type Subject } from "./scene.ts";

/** An agent that takes this long to a place will not get there. */
const REACH_MILLISECONDS = 90_000;
/** The agent's log line before it claims. */
const READY = "taking jobs";
/**
 * From the expiry of its lease to the end of a job. Agents look for expired leases every two seconds; without them the
 * worker would find them too, but only once a minute.
 */
const SLOWEST_TAKE_OVER_SECONDS = 30;

export type CrashResult = {
  readonly violations: readonly string[];
  /** From the kill of its agent to the end of each job. */
  readonly recoverySeconds: readonly number[];
};

export type CrashOptions = {
  /**
   * Expires the leases of killed agents at once instead of waiting for them; the time from a kill to the end is not
   * measured then, but a job that is not taken over soon is a violation.
   */
  readonly passLeases: boolean;
  /** What is wrong with the state that the killed agents have left, before another one continues. */
  readonly whenKilled?: () => Promise<string[]>;
};

/**
 * Kills one agent at each of the crash points, each with a job of its own, and lets a healthy one finish.
 * Every agent waits for a job before there is any, so that none is late and takes over the job of another
 * one.
 */
export async function killAtEach(
  scene: RegionScene,
  { kind, cause, violations: endOf }: Course,
  places: readonly CrashPlace[],
  subjects: readonly Subject[],
  { passLeases, whenKilled }: CrashOptions,
): Promise<CrashResult> {
  const agents = places.map(({ name, time }) =>
    scene.world.startAgent({ BATTERY_CRASH: `${name}@${time}`, KULE_AGENT_CONCURRENCY: "1" }),
  );
  await untilReadyOrDead(agents);
  await Promise.all(subjects.map((subject) => cause(scene, subject)));
  const killedAt = await Promise.all(agents.map(killed));
  const violations = places.flatMap(({ name, time }, index) =>
    killedAt[index] === null ? [`${kind}: no agent came to ${name}@${time}`] : [],
  );
  await Promise.all(agents.map((agent) => agent.end()));
  violations.push(...((await whenKilled?.()) ?? []));
  if (passLeases)
    await scene.owner.query(
      "update job set lease_until = clock_timestamp() - interval '1 second' where status = 'running'",
    );
  const passedAt = Date.now();
  const healer = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: String(Math.max(1, subjects.length)) });
  const jobs = await Promise.all(subjects.map((subject) => scene.work(subject, kind)));
  await healer.end();
  for (const subject of subjects) violations.push(...(await endOf(scene, subject)));
  violations.push(...(await brokenInvariants(scene)));
  if (passLeases) violations.push(...jobs.flatMap((job) => takenOverLate(kind, job, passedAt)));
  const last = Math.max(...killedAt.map((at) => at ?? 0));
  const recoverySeconds = jobs.flatMap(({ id, finished_at }) => {
    const index = agents.findIndex((agent) => agent.output().includes(id));
    const at = killedAt[index] ?? last;
    // A job that was over before its agent died needed no recovery.
    return finished_at === null ? [] : [Math.max(0, (finished_at.getTime() - at) / 1000)];
  });
  return { violations, recoverySeconds: passLeases ? [] : recoverySeconds };
}

/** A job that is not over at all is found by its course. */
function takenOverLate(kind: string, { id, finished_at }: JobEndRow, passedAt: number): string[] {
  const seconds = finished_at === null ? 0 : (finished_at.getTime() - passedAt) / 1000;
  return seconds > SLOWEST_TAKE_OVER_SECONDS
    ? [`${kind} ${id} ended ${seconds.toFixed(0)} s after its lease had expired, while an agent was waiting`]
    : [];
}

/** When the agent died of SIGKILL; null when it did not in time. */
async function killed(agent: TestProcess): Promise<number | null> {
  const ended = await Promise.race([agent.ended, delay(REACH_MILLISECONDS, null, { ref: false })]);
  return ended?.signal === "SIGKILL" ? Date.now() : null;
}

/** Waits until each agent sends a claim, or has reached its crash point even before. */
export async function untilReadyOrDead(agents: readonly TestProcess[]): Promise<void> {
  const deadline = performance.now() + REACH_MILLISECONDS;
  while (agents.some((agent) => agent.running() && !agent.output().includes(READY))) {
    if (performance.now() > deadline) return;
    await delay(50);
  }
}
