import { randomUUID } from "node:crypto";
import type { CompiledQuery } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemQuery } from "../platform/database.ts";
import { ServerWorld } from "../testing/server-world.ts";
import { TestAgent } from "../testing/test-agent.ts";
import { isHeld } from "./end-attempt.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

/** The write that ends an attempt, as its holder would send it. */
function endOf(job: { id: string; epoch: number }): CompiledQuery {
  return systemQuery(world.world.replica.deps.db, "a test of the fence")
    .updateTable("job")
    .set({ status: "failed", lease_until: null, finished_at: new Date() })
    .where(isHeld(job))
    .compile();
}

/**
 * How many jobs the write ends. It is run alone: its effect on the server is not settled, so nothing may
 * check that.
 */
async function rowsEnded({ sql, parameters }: Pick<CompiledQuery, "sql" | "parameters">): Promise<number> {
  const client = await world.owner.connect();
  try {
    await client.query("set session_replication_role = replica");
    return (await client.query(sql, [...parameters])).rowCount ?? 0;
  } finally {
    await client.query("set session_replication_role = default");
    client.release();
  }
}

describe("the fence", () => {
  test("accepts the holder's write and refuses a former holder's", async () => {
    await world.create();
    const zombie = await world.agent.take("ServerCreate");
    await world.passLease(zombie.id);
    const holder = await world.agent.take("ServerCreate");
    expect(await rowsEnded(endOf(zombie))).toBe(0);
    expect(await rowsEnded(endOf(holder))).toBe(1);
  });

  test("is what stops it: the same write without the epoch ends the successor's job", async () => {
    await world.create();
    const zombie = await world.agent.take("ServerCreate");
    await world.passLease(zombie.id);
    const holder = await world.agent.take("ServerCreate");
    const { sql, parameters } = endOf(zombie);
    // The parameter stays in the statement, so that only the check of the epoch is removed.
    const open = sql.replace(/job\.epoch = (\$\d+)/, "$1::integer is not null");
    expect(open).not.toBe(sql);
    expect(await rowsEnded({ sql: open, parameters })).toBe(1);
    expect((await world.agent.report(holder)).body.code).toBe("stale_lease");
  });

  test("holds between two API processes over one database", async () => {
    const replica = await world.world.addReplica();
    const here = world.agent;
    const there = new TestAgent(here.api.at(replica.app));
    for (let round = 0; round < 10; round += 1) {
      const { server } = await world.create();
      const claimId = randomUUID();
      const [one, other] = await Promise.all([
        here.claim({ claim_id: claimId }),
        there.claim({ claim_id: claimId }),
      ]);
      // The same claim at both: one job, once, whichever was first.
      expect(new Set([one, other].flatMap((claim) => (claim === null ? [] : [claim.id]))).size).toBe(1);
      const zombie = one ?? other;
      if (zombie === null) throw new Error("nobody got the job");
      await world.passLease(zombie.id);
      const holder = await there.take("ServerCreate");
      const outcome = { status: "failed", error: { code: "boom", message: "boom" } };
      const [late] = await Promise.all([here.report(zombie, { outcome }), there.succeed(holder)]);
      expect([late.status, late.body.code]).toEqual([409, "stale_lease"]);
      expect((await world.server(server.id)).status).toBe("running");
    }
  });

  test("counts epochs up and never down", async () => {
    await world.create();
    let last = 0;
    for (let round = 0; round < 4; round += 1) {
      const claimed = await world.agent.take("ServerCreate");
      expect(claimed.epoch).toBe(last + 1);
      last = claimed.epoch;
      if (round % 2 === 0) await world.agent.end(claimed, { status: "released" });
      else await world.passLease(claimed.id);
    }
  });
});
