import { setTimeout as delay } from "node:timers/promises";
import type { RemovalScene } from "./race-scene.ts";

/** How far from the end of the buffer the cancel and the worker set off, at most. */
const windowMs = 10;
/** The early task sets off this long before the end: what it does takes longer where the machine is busy. */
const earlyMs = 30;
/** Time to set everything up before the first one sets off. */
const leadMs = 60;

/**
 * A cancel and the end of the buffer, within ten milliseconds before and after that end, for some servers at once:
 * exactly one of them wins each, and nothing is destroyed before its time.
 */
export async function bufferEndRaces(scene: RemovalScene, count: number): Promise<void> {
  const servers = await scene.running(count);
  await Promise.all(servers.map((id) => scene.caller().delete(`/servers/${id}`)));
  // Half of the time the stop is done, half of the time it still waits.
  if (scene.random() < 0.5) await scene.world.agent.work();
  const ends = await Promise.all(servers.map((id) => scene.endBufferIn(id, leadMs + 2 * windowMs)));
  const cancelled = await Promise.all(
    servers.map(async (id, index) => {
      const endMs = ends[index]?.getTime() ?? 0;
      const at = async <T>(fromMs: number, what: () => Promise<T>): Promise<T> => {
        await delay(Math.max(0, endMs + fromMs + scene.random() * 2 * windowMs - Date.now()));
        return what();
      };
      // One task runs too early, as with a worker whose clock is ahead, and one when it is due.
      const [cancel] = await Promise.all([
        at(-windowMs - scene.cancelLeadMs, () => scene.caller().post(`/servers/${id}/cancel-deletion`)),
        at(-earlyMs, () => scene.expire(id)),
        at(-windowMs, () => scene.expire(id)),
      ]);
      scene.expect(`cancel of ${id} at the end of its buffer`, cancel, /^(202|409 resource_deleting)$/);
      return cancel.status === 202;
    }),
  );
  const wins = cancelled.filter(Boolean).length;
  scene.cancelLeadMs = Math.min(leadMs, Math.max(0, scene.cancelLeadMs + (wins < count / 2 ? 3 : -3)));
  await scene.sweep();
  for (const [index, id] of servers.entries())
    await judge(scene, id, cancelled[index] === true, ends[index] ?? new Date(0));
  const left = await scene.settle(servers);
  for (const [index, id] of servers.entries()) {
    const expected = cancelled[index] === true ? "running" : "deleted";
    if (left.get(id) !== expected)
      scene.violations.push(`${id} is ${left.get(id)} in the end, and not ${expected}`);
  }
}

async function judge(scene: RemovalScene, id: string, cancelled: boolean, end: Date): Promise<void> {
  const seen = await scene.see(id);
  const destroyed = seen.status === "deleting";
  scene.note(cancelled ? "the cancel won" : "the end of the buffer won");
  if (cancelled && (destroyed || seen.destroys.length > 0))
    scene.violations.push(
      `both: ${id} was cancelled and is ${seen.status} with ${seen.destroys.length} destroys`,
    );
  if (!cancelled && !destroyed)
    scene.violations.push(`neither: ${id} was not cancelled and is ${seen.status}`);
  if (!cancelled && seen.destroys.length !== 1)
    scene.violations.push(`${id} has ${seen.destroys.length} destroy jobs and not one`);
  for (const at of seen.destroys)
    if (at < end)
      scene.violations.push(`${id} was given up ${end.getTime() - at.getTime()} ms before its buffer ended`);
}
