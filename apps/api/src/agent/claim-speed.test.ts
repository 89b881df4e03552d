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
  test("are not read by a claim", { timeout: 120_000 }, async () => {
    const busy = new TestAgent((await world.world.addRegion("busy1")).agent);
    await world.create();
    const alone = await pagesOfClaim();
    // Jobs without a server, which no transaction could commit: the replica role skips the checks.
    await world.owner.query(
      `begin; set local session_replication_role = replica;
       insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
       select 'job_' || lpad(n::text, 26, '0'), '${world.organisation.id}', 'busy1', 'ServerStop', 'server', 'srv_' || n, '{}', 'req_1'
         from generate_series(1, ${waiting}) n;
       commit`,
    );
    await world.owner.query(
      `select graphile_worker.add_jobs(array(
         select row('region:busy1', json_build_object('job_id', id), null, now(), 1000, id, 0, null)::graphile_worker.job_spec
           from job where region = 'busy1'))`,
    );
    expect(await pagesOfClaim()).toBeLessThan(alone + 50);
    await world.owner.query("analyze job");
    expect(await pagesOfClaim()).toBeLessThan(alone + 50);
    // A claim of the control plane's own jobs, which have no region.
    expect(await pagesOfClaim("j.region is null")).toBeLessThan(alone + 50);
    // The mutant: without the indexes by region the same claim walks through all of them.
    await world.owner.query("drop index job_claim_queued, job_newest_of, job_list_of");
    expect(await pagesOfClaim()).toBeGreaterThan(alone + 1_000);

    expect((await world.agent.take("ServerCreate")).epoch).toBe(1);
    expect((await busy.claimRaw({ capabilities: ["ServerCreate"] })).status).toBe(204);
  });

  /**
   * How many pages of the table and its indexes Postgres reads to find the next job: a measure of time
   * without noise.
   */
  async function pagesOfClaim(ofRegion = "j.region = p_region"): Promise<number> {
    const [{ prosrc }] = await world.rows("select prosrc from pg_proc where proname = 'kule_claim_job'");
    const searches: string[] = prosrc.match(/select j\.id into v_id from job j[^;]+/g) ?? [];
    const text = searches.find((each) => each.includes(ofRegion));
    if (text === undefined) throw new Error("the claim has changed: say here what it looks at now");
    const query = text
      .replace(" into v_id", "")
      .replace("p_region", "'ist1'")
      .replaceAll("v_restored_at", "null::timestamptz")
      .replace("p_capabilities", "'{ServerCreate,ServerStop}'");
    const [{ "QUERY PLAN": plan }] = await world.rows(`explain (analyze, buffers, format json) ${query}`);
    const { "Shared Hit Blocks": hit, "Shared Read Blocks": read } = plan[0].Plan;
    return hit + read;
  }
});
