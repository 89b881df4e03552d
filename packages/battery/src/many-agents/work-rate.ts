import { readFileSync } from "node:fs";
import type { Scene } from "./scene.ts";

/** How fast jobs end, and what each costs the control plane: the API and its connections' processes in Postgres. */
export type WorkRate = { readonly jobsPerSecond: number; readonly cpuMsPerJob: number };

const ticksPerSecond = 100;

/** @param meanwhile keeps the queue full during the measurement */
export async function measureWork(scene: Scene, meanwhile: () => Promise<void>): Promise<WorkRate> {
  const [jobs, cpu, startedAt] = [await scene.ended(), await cpuOf(scene), performance.now()];
  await meanwhile();
  const done = (await scene.ended()) - jobs;
  const spent = [...(await cpuOf(scene))].reduce((sum, [pid, ms]) => sum + ms - (cpu.get(pid) ?? 0), 0);
  return {
    jobsPerSecond: done / ((performance.now() - startedAt) / 1000),
    cpuMsPerJob: spent / Math.max(1, done),
  };
}

/** Milliseconds of CPU by process, of those that run. */
async function cpuOf({ world, owner }: Scene): Promise<ReadonlyMap<number, number>> {
  const { rows } = await owner.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and usename = 'kule_api'",
  );
  const found = new Map<number, number>();
  for (const pid of [world.api.pid, ...rows.map((row) => row.pid)]) {
    const ms = cpuMs(pid);
    if (ms !== null) found.set(pid, ms);
  }
  return found;
}

function cpuMs(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13)
      .map(Number);
    return ((user + system) / ticksPerSecond) * 1000;
  } catch {
    return null;
  }
}
