import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { ServerWorld } from "@kule/api/testing/server-world";
import type { ClaimedJob } from "@kule/api/testing/test-agent";
import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import type { RowRun } from "../row.ts";

type Owner = { readonly id: string; readonly owner: ApiCaller };
type Size = { readonly servers: number; readonly moves: number };

const sizes = ["s", "m", "l"] as const;

/**
 * Runs servers of several organisations concurrently: created, deleted, restored, destroyed, with creates and
 * stops that fail, reports that are repeated and agents that lose their lease. Ends with nothing under way.
 *
 * @returns how many moves were made
 */
export async function runLifecycle(
  world: ServerWorld,
  owners: readonly Owner[],
  { servers, moves }: Size,
  run: RowRun,
): Promise<number> {
  let made = 0;
  let isOver = false;
  const region = workRegion(world, run, () => isOver);
  const lives = Array.from({ length: servers }, async (_, index) => {
    const life = owners[index % owners.length];
    if (life === undefined) throw new Error("there are no organisations");
    let id: string | null = null;
    for (let move = 0; move < moves; move += 1) {
      if (id === null) {
        const body = world.body({ package: pick(sizes, run), start: run.random() < 0.8 });
        const answer = await life.owner.post("/servers", body);
        // A machine that is short of time; the next move tries again.
        if (answer.status === 503) continue;
        if (answer.status !== 202) throw new Error(`a create was answered ${answer.status}`);
        id = answer.body.server.id as string;
      } else if (!(await oneMove(world, life, id, run))) id = null;
      made += 1;
      await new Promise((later) => setTimeout(later, run.random() * 80));
    }
  });
  // Whatever breaks, the agents end before the world does.
  const lived = await Promise.allSettled(lives);
  isOver = true;
  await region;
  for (const each of lived) if (each.status === "rejected") throw each.reason;
  return made;
}

/**
 * One possible next operation; a refusal with 409 because of its state is expected.
 * @returns whether it still exists
 */
async function oneMove(world: ServerWorld, { id: organisationId, owner }: Owner, id: string, run: RowRun) {
  const dice = run.random();
  if (dice < 0.35) await owner.delete(`/servers/${id}`);
  else if (dice < 0.5) await owner.post(`/servers/${id}/cancel-deletion`);
  else if (dice < 0.85) {
    const { body } = await owner.get(`/servers/${id}`);
    if (body.status === "pending_deletion") {
      await world.passBuffer(id);
      await expireRemovalBuffer(world.world.replica.deps, organisationId, id);
    }
  } else {
    const { items } = (await owner.get(`/jobs?resource=${id}&limit=1`)).body;
    const [last] = items;
    if (last?.status === "failed" || last?.status === "cancelled") await owner.post(`/jobs/${last.id}/retry`);
  }
  return (await owner.get(`/servers/${id}`)).status !== 404;
}

/**
 * Two agents concurrently. Their worst faults are to be slow, to fail, to repeat themselves and to be late.
 */
async function workRegion(world: ServerWorld, run: RowRun, isOver: () => boolean): Promise<void> {
  const agent = async () => {
    for (;;) {
      const answer = await world.agent.claimRaw();
      if (answer.status !== 200 && answer.status !== 204 && answer.status !== 503)
        throw new Error(`a claim was answered ${answer.status} ${JSON.stringify(answer.body)}`);
      const job: ClaimedJob | null = answer.status === 200 ? answer.body.job : null;
      if (job === null) {
        if (isOver() && answer.status === 204) return;
        await new Promise((later) => setTimeout(later, 10));
        continue;
      }
      const dice = run.random();
      if (dice < 0.1) {
        // Is suspended through its lease and returns: the report changes nothing.
        await world.passLease(job.id);
        await world.agent.report(job, { outcome: { status: "succeeded", observed: { power_state: "on" } } });
      } else if (dice < 0.25) await world.agent.report(job, failure);
      else {
        // By the payload, so that the report is what a region would send.
        const power = (job.payload as { start?: boolean }).start === true ? "on" : "off";
        const report = {
          phase: "verify",
          outcome: { status: "succeeded", observed: { power_state: power } },
        };
        const seq = 1_000;
        await world.agent.reportAs(job, seq, report);
        if (dice < 0.5) await world.agent.reportAs(job, seq, report);
      }
    }
  };
  await Promise.all([agent(), agent()]);
}

const failure = {
  outcome: {
    status: "failed",
    error: { code: "template_missing", message: "It did not work", retryable: false },
  },
};

function pick<Item>(items: readonly Item[], run: RowRun): Item {
  const item = items[Math.floor(run.random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}
