import { setTimeout as delay } from "node:timers/promises";
import { type TestProcess, untilReady } from "@kule/testing/child-process";
import type { CrashCase } from "@kule/testing/system/crash-points";
import {
  type Findings,
  healed,
  isStopped,
  type Scene,
  stoppedInPeace,
  type ToldAgent,
} from "./shutdown-scene.ts";

let agents = 0;

/**
 * One agent at each of these places of a create: it is held there, told to stop, and let go on, so that it learns of
 * it at this very place.
 */
export async function stopAtPlaces(scene: Scene, places: readonly CrashCase[]): Promise<Findings> {
  const { world } = scene;
  const held = places.map(({ name, time }) => {
    agents += 1;
    const agentName = `held-${agents}`;
    const env = { BATTERY_STOP: `${name}@${time}`, KULE_AGENT_CONCURRENCY: "1" };
    return { agent: world.startAgent(env, { name: agentName }), name: agentName };
  });
  // An organisation of its own for each: only its first server has the step that makes its pool.
  await Promise.all(
    held.map(async ({ name }) => world.createServer(name, await world.newOrganisation(name))),
  );
  for (const { agent } of held)
    await untilReady(agent, async () => (isStopped(agent.pid) ? true : undefined), 60_000);
  const told: ToldAgent[] = held.map(({ agent, name }) => {
    // It waits until the process goes on.
    agent.signal("SIGTERM");
    const toldAtMs = Date.now();
    agent.signal("SIGCONT");
    return { agent, name, toldAtMs };
  });
  const found = await stoppedInPeace(scene, told);
  if (found.cases < places.length)
    found.violations.push(
      `only ${found.cases} of ${places.length} agents held a job where they were to stop`,
    );
  if (found.violations.length > 0) return found;
  found.violations.push(...(await healed(scene, `after ${places.map(({ name }) => name).join(", ")}`)));
  return found;
}

/** Agents with many jobs each, told to stop at a moment that chance chooses, while another one takes their place. */
export async function stopAtMoments(scene: Scene, rounds: number): Promise<Findings> {
  const { world, lives, run } = scene;
  const told: ToldAgent[] = [];
  for (let round = 0; round < rounds; round += 1) {
    agents += 1;
    const name = `busy-${agents}`;
    const agent = world.startAgent({ KULE_AGENT_CONCURRENCY: "4" }, { name });
    await lives.create(6);
    await untilReady(agent, async () => (agent.output().includes("job claimed") ? true : undefined));
    await delay(run.random() * 900);
    await pausedHolding(scene, agent, name);
    told.push({ agent, name, toldAtMs: Date.now() });
    agent.signal("SIGTERM");
    agent.signal("SIGCONT");
    run.progress(`${round + 1} of ${rounds} busy agents told to stop`);
  }
  const found = await stoppedInPeace(scene, told);
  if (found.cases === 0) found.violations.push("no agent held a job when it was told to stop");
  if (found.violations.length > 0) return found;
  found.violations.push(...(await healed(scene, "after busy agents were stopped")));
  return found;
}

/**
 * Chance may find an agent that is through with what there was: it is given more then. It stands still when it is told,
 * since a job that it holds in one moment may be done in the next.
 */
async function pausedHolding({ journal, lives }: Scene, agent: TestProcess, name: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    agent.signal("SIGSTOP");
    // What it has asked for is answered by then.
    await delay(100);
    const held = Map.groupBy(await journal.changes(), (change) => change.job)
      .values()
      .map((changes) => changes.at(-1)?.after);
    if (held.some((job) => job?.status === "running" && job.agentName === name)) return;
    if (performance.now() > deadline) return;
    agent.signal("SIGCONT");
    await lives.create(2);
  }
}
