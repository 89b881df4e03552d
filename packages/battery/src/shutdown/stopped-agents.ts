import { setTimeout as delay } from "node:timers/promises";
import { type TestProcess, untilReady } from "@kule/testing/child-process";
import type { CrashCase } from "@kule/testing/system/crash-points";
import {
  type Findings,
  isStopped,
  recoveryViolations,
  type Scene,
  type SignalledAgent,
  stoppedCleanly,
} from "./shutdown-scene.ts";

let agents = 0;

/**
 * One agent at each of these points of a create: it is held there, gets its stop signal, and continues, so
 * that it notices the signal at this very point.
 */
export async function stopAtPlaces(scene: Scene, places: readonly CrashCase[]): Promise<Findings> {
  const { world } = scene;
  const held = places.map(({ name, time }) => {
    agents += 1;
    const agentName = `held-${agents}`;
    const env = { BATTERY_STOP: `${name}@${time}`, KULE_AGENT_CONCURRENCY: "1" };
    return { agent: world.startAgent(env, { name: agentName }), name: agentName };
  });
  // An organisation of its own for each: only its first server has the step that creates its pool.
  await Promise.all(
    held.map(async ({ name }) => world.createServer(name, await world.newOrganisation(name))),
  );
  for (const { agent } of held)
    await untilReady(agent, async () => (isStopped(agent.pid) ? true : undefined), 60_000);
  const told: SignalledAgent[] = held.map(({ agent, name }) => {
    // The signal is pending until the process continues.
    agent.signal("SIGTERM");
    const toldAtMs = Date.now();
    agent.signal("SIGCONT");
    return { agent, name, toldAtMs };
  });
  const found = await stoppedCleanly(scene, told);
  if (found.cases < places.length)
    found.violations.push(
      `only ${found.cases} of ${places.length} agents held a job where they were to stop`,
    );
  if (found.violations.length > 0) return found;
  found.violations.push(
    ...(await recoveryViolations(scene, `after ${places.map(({ name }) => name).join(", ")}`)),
  );
  return found;
}

/** Agents with many jobs each, stopped at a random moment, while another one takes their place. */
export async function stopAtMoments(scene: Scene, rounds: number): Promise<Findings> {
  const { world, lives, run } = scene;
  const told: SignalledAgent[] = [];
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
  const found = await stoppedCleanly(scene, told);
  if (found.cases === 0) found.violations.push("no agent held a job when it was told to stop");
  if (found.violations.length > 0) return found;
  found.violations.push(...(await recoveryViolations(scene, "after busy agents were stopped")));
  return found;
}

/**
 * A random moment may find an idle agent: it gets more jobs then. It is suspended when it gets its signal,
 * because a job that it holds in one moment may be done in the next.
 */
async function pausedHolding({ journal, lives }: Scene, agent: TestProcess, name: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    agent.signal("SIGSTOP");
    // Its claim is answered by then.
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
