import type { ApiWorld } from "./api-world.ts";
import { made } from "./proofs/tenant.ts";

/** The version that the rollouts of the proofs are of. */
export const rolledOut = "9.1.0";

/** Ends the rollout that is open, if there is one: the next can begin. */
export async function endOpenRollout({ operator }: ApiWorld): Promise<void> {
  const { items } = made(await operator.get("/agent-rollouts?limit=1"));
  const [latest] = items as { id: string; status: string }[];
  if (latest !== undefined && ["running", "paused", "stopped"].includes(latest.status))
    made(await operator.post(`/agent-rollouts/${latest.id}/cancel`));
}

/** A rollout that has just begun. */
export async function openRollout(world: ApiWorld): Promise<string> {
  await endOpenRollout(world);
  return made(await world.operator.post("/agent-rollouts", { version: rolledOut })).id;
}

export async function pausedRollout(world: ApiWorld): Promise<string> {
  const id = await openRollout(world);
  made(await world.operator.post(`/agent-rollouts/${id}/pause`));
  return id;
}
