import { invalidState } from "@kule/rules/refusals";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { readRollout } from "./read-rollout.ts";
import { lockRollout, type RolloutChanges, updateRollout } from "./rollout-store.ts";

type Change = "pause" | "resume" | "cancel";

const allowed = {
  pause: {
    precondition: "agent_rollout_running",
    statuses: ["running"],
    words: "Only a running rollout can be paused",
  },
  resume: {
    precondition: "agent_rollout_held",
    statuses: ["paused", "stopped"],
    words: "Only a rollout that is paused or has stopped can be resumed",
  },
  cancel: {
    precondition: "agent_rollout_open",
    statuses: ["running", "paused", "stopped"],
    words: "Only an open rollout can be cancelled",
  },
} as const;

/**
 * What an operator does with a rollout, under its lock: a step of the worker comes before it or after it.
 *
 * @throws Conflict in a status that does not allow it
 */
export async function changeRollout(
  tx: Tx,
  id: string,
  change: Change,
  values: RolloutChanges,
): Promise<Outcome> {
  const row = await lockRollout(tx, id);
  if (row === null) throw new NotFound();
  const { precondition, statuses, words } = allowed[change];
  if (!(statuses as readonly string[]).includes(row.status))
    throw new Conflict(
      invalidState(precondition, `${words}; this one is ${row.status}`, { resource: id }),
      row.status,
    );
  await updateRollout(tx, id, values);
  return { reply: reply(200, await readRollout(tx, id)), resource: id, details: { version: row.version } };
}
