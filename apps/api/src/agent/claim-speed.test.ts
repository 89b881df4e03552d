import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../testing/server-world.ts";
import { TestAgent } from "../testing/test-agent.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const waiting = 100_000;

describe(`${waiting} queued jobs of another region`, () => {
  test("are not looked at by a claim", { timeout: 90_000 }, async () => {
    const busy = new TestAgent((await world.world.addRegion("busy1")).agent);
    const empty = await claimMilliseconds();
    await world.owner.query(
      `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
       select 'job_' || lpad(n::text, 26, '0'), $1, 'busy1', 'ServerStop', 'server', 'srv_' || n, '{}', 'req_1'
         from generate_series(1, $2::integer) n`,
      [world.organisation.id, waiting],
    );
    await world.owner.query(
      `select graphile_worker.add_jobs(array(
         select row('region:busy1', json_build_object('job_id', id), null, now(), 1000, id, 0, null)::graphile_worker.job_spec
           from job where region = 'busy1'))`,
    );
    await world.owner.query("analyze job");
    const beside = await claimMilliseconds();
    console.log(`claim p50: ${empty.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ${waiting} jobs`);
    // A claim that walked through them would take hundreds of times as long.
    expect(beside).toBeLessThan(Math.max(empty * 3, empty + 20));

    const plan = await world.rows(
      `explain (format json)
       select j.id from job j
        where j.region = 'ist1' and j.status = 'queued' and j.run_at <= clock_timestamp()
          and j.kind = any ('{ServerCreate,ServerStop}')
          and not exists (select 1 from job r where r.resource_id = j.resource_id and r.status = 'running')
        order by j.priority, j.run_at, j.id for update skip locked limit 1`,
    );
    const text = JSON.stringify(plan);
    expect(text).toContain("job_claim_queued");
    expect(text).not.toContain("Seq Scan");
    expect(text).not.toContain('"Sort"');
    expect((await busy.claimRaw({ capabilities: ["ServerCreate"] })).status).toBe(204);
  });

  /** Median time of a claim that finds a job, over HTTP in this process. */
  async function claimMilliseconds(): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < 15; round += 1) {
      await world.create();
      const startedAt = performance.now();
      const job = await world.agent.take("ServerCreate");
      times.push(performance.now() - startedAt);
      await world.agent.succeed(job);
    }
    return times.sort((a, b) => a - b)[7] ?? 0;
  }
});
