import { Logger, runOnce } from "graphile-worker";
import pg from "pg";
import { type Installation, ownerClient } from "./installation.ts";
import { HttpClients, oneByOne } from "./load.ts";
import { type BenchOrganisation, made, registerOrganisation, registerRegion } from "./organisations.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;
const silent = new Logger(() => () => {});

type Agent = { readonly region: string; readonly clients: HttpClients };

/** claim + report + settle over HTTP, compared with graphile-worker's own runner on tasks that do nothing. */
export async function claimRows(installation: Installation, jobs: number): Promise<Row[]> {
  const floor = await graphileRate(installation, jobs);
  const rows: Row[] = [];
  for (const regions of [1, 50]) {
    const { perSecond } = await claimRate(installation, regions, jobs);
    const ratio = perSecond / floor;
    rows.push({
      what: `claim + report + settle, ${regions} region${regions === 1 ? "" : "s"}`,
      ours: `${Math.round(perSecond)} jobs/s`,
      floor: `${Math.round(floor)} jobs/s graphile-worker, empty tasks`,
      ratio: ratio.toFixed(2),
      aim: "≥ 0.50",
      reached: ratio >= 0.5,
    });
  }
  return rows;
}

async function graphileRate(installation: Installation, jobs: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: installation.ownerUrl, max: CLIENTS + 2 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  await pool.query(
    "select graphile_worker.add_job('bench_nothing', json_build_object('i', i)) from generate_series(1, $1::integer) i",
    [jobs],
  );
  const begin = performance.now();
  await runOnce({
    pgPool: pool,
    taskList: { bench_nothing: async () => {} },
    concurrency: CLIENTS,
    noHandleSignals: true,
    logger: silent,
  });
  const seconds = (performance.now() - begin) / 1000;
  await pool.end();
  return jobs / seconds;
}

async function claimRate(
  installation: Installation,
  regions: number,
  jobs: number,
): Promise<{ perSecond: number }> {
  const operator = new HttpClients(installation.api.urls, 4, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) =>
    new HttpClients(installation.api.urls, CLIENTS, headers);
  const agents: Agent[] = [];
  let organisation: BenchOrganisation | undefined;
  for (let number = 1; number <= regions; number += 1) {
    const region = `claim${regions}-${number}`;
    const token = await registerRegion(operator, region, Math.ceil(jobs / regions) + 10);
    agents.push({ region, clients: clientsFor({ authorization: `Bearer ${token}` }) });
    organisation = await registerOrganisation(
      operator,
      clientsFor,
      installation.operatorToken,
      `claim-${regions}-${number}`,
      region,
    );
    const tenant = clientsFor({ authorization: `Bearer ${organisation.token}` });
    const share = Math.ceil(jobs / regions);
    let next = 0;
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (next < share) {
          next += 1;
          await made(tenant, "/servers", { name: `s-${next}`, region, image: "ubuntu-24.04", package: "s" });
        }
      }),
    );
    tenant.close();
  }
  let done = 0;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: Math.max(CLIENTS, regions) }, async (_, index) => {
      const { clients } = agents[index % agents.length] as Agent;
      for (let turn = 0; ; turn += 1) {
        const claim = await clients.send("POST", "/agent/jobs/claim", {
          claim_id: `bench-${regions}-${index}-${turn}`,
          agent_version: "bench",
          capabilities: ["ServerCreate"],
        });
        if (claim.status === 204) return;
        const { job } = JSON.parse(claim.body) as { job: { id: string; epoch: number } };
        await made(clients, `/agent/jobs/${job.id}/steps`, {
          epoch: job.epoch,
          seq: 1,
          outcome: { status: "succeeded", observed: { power_state: "on" } },
        });
        done += 1;
      }
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  for (const { clients } of agents) clients.close();
  operator.close();
  return { perSecond: done / seconds };
}

/** A claim must not feel another region's queue. */
export async function busyNeighbourRow(installation: Installation, queued: number): Promise<Row> {
  const owner = await ownerClient(installation);
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const quiet = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${await registerRegion(operator, "quiet1")}`,
  });
  await registerRegion(operator, "loud1");
  let turn = 0;
  const emptyClaim = async () => {
    turn += 1;
    const { status, body } = await quiet.send("POST", "/agent/jobs/claim", {
      claim_id: `quiet-claim-${turn}`,
      agent_version: "bench",
      capabilities: ["ServerCreate"],
    });
    if (status !== 204) throw new Error(`an empty claim answered ${status}: ${body}`);
  };
  await oneByOne(100, emptyClaim);
  const before = median(await oneByOne(300, emptyClaim));
  // Jobs without a server, which only the replica role can commit.
  await owner.query("set session_replication_role = replica");
  await owner.query(
    `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
     select 'job_0dd' || lpad(to_hex(i), 23, '0'), $1, 'loud1', 'ServerCreate', 'server', 'srv_0dd' || lpad(to_hex(i), 23, '0'),
            '{"type":"user","id":null,"name":"bench"}', 'req_bench' from generate_series(1, $2::integer) i`,
    [installation.organisationId, queued],
  );
  await owner.query("set session_replication_role = default");
  await owner.query("select graphile_worker.add_job('region:loud1', '{}')");
  await owner.query(
    `insert into graphile_worker._private_jobs (task_id, payload, key)
     select t.id, '{}', 'job_0dd' || lpad(to_hex(i), 23, '0')
       from graphile_worker._private_tasks t, generate_series(1, $1::integer) i where t.identifier = 'region:loud1'`,
    [queued],
  );
  await oneByOne(50, emptyClaim);
  const after = median(await oneByOne(300, emptyClaim));
  await owner.query(
    "delete from graphile_worker._private_jobs where task_id = (select id from graphile_worker._private_tasks where identifier = 'region:loud1')",
  );
  await owner.query("delete from job where region = 'loud1'");
  await owner.end();
  quiet.close();
  operator.close();
  return {
    what: `claim beside ${queued.toLocaleString("en")} queued elsewhere`,
    ours: `p50 ${after.toFixed(2)} ms`,
    floor: `p50 ${before.toFixed(2)} ms on empty queues`,
    ratio: (after / before).toFixed(2),
    aim: "≤ 1.30",
    reached: after / before <= 1.3,
  };
}

/** How long a job waits before a waiting agent has it, by Postgres' own clock. */
export async function notifyRow(installation: Installation, count: number): Promise<Row> {
  const owner = await ownerClient(installation);
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) => new HttpClients(installation.api.urls, 1, headers);
  const agent = clientsFor({ authorization: `Bearer ${await registerRegion(operator, "wake1")}` });
  const organisation = await registerOrganisation(
    operator,
    clientsFor,
    installation.operatorToken,
    "wake",
    "wake1",
  );
  const tenant = clientsFor({ authorization: `Bearer ${organisation.token}` });
  for (let turn = 0; turn < count; turn += 1) {
    const claim = agent.send("POST", "/agent/jobs/claim", {
      claim_id: `wake-claim-${turn}`,
      agent_version: "bench",
      capabilities: ["ServerCreate"],
      wait_seconds: 20,
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await made(tenant, "/servers", {
      name: `wake-${turn}`,
      region: "wake1",
      image: "ubuntu-24.04",
      package: "s",
    });
    const { status, body } = await claim;
    if (status !== 200) throw new Error(`a waiting claim answered ${status}`);
    const { job } = JSON.parse(body) as { job: { id: string; epoch: number } };
    await made(agent, `/agent/jobs/${job.id}/steps`, {
      epoch: job.epoch,
      seq: 1,
      outcome: { status: "succeeded" },
    });
  }
  const { rows } = await owner.query<{ ms: string }>(
    "select extract(epoch from started_at - created_at) * 1000 ms from job where region = 'wake1'",
  );
  const p50 = median(rows.map(({ ms }) => Number(ms)));
  const notify = await notifyRoundTripMs(installation, count);
  await owner.end();
  for (const clients of [agent, tenant, operator]) clients.close();
  return {
    what: "queued → claimed by a waiting agent",
    ours: `p50 ${p50.toFixed(1)} ms`,
    floor: `p50 ${notify.toFixed(1)} ms one NOTIFY`,
    ratio: (p50 / notify).toFixed(2),
    aim: "≤ 20 ms",
    reached: p50 <= 20,
  };
}

async function notifyRoundTripMs(installation: Installation, count: number): Promise<number> {
  const listener = await ownerClient(installation);
  const sender = await ownerClient(installation);
  await listener.query("listen bench");
  const samples = await oneByOne(count, async () => {
    const heard = new Promise((resolve) => listener.once("notification", resolve));
    await sender.query("notify bench");
    await heard;
  });
  await listener.end();
  await sender.end();
  return median(samples);
}
