import { createApp } from "@kule/api/app";
import { createLog } from "@kule/api/platform/log";
import { openDeps } from "@kule/api/platform/open-deps";
import { readSettings } from "@kule/api/platform/settings";
import { wireCostsOf } from "@kule/api/testing/wire-costs";
import type pg from "pg";
import { createScene } from "./create-scene.ts";
import { type Installation, ownerClient } from "./installation.ts";
import type { Row } from "./table.ts";

const rounds = 50;
/** A connection that is idle adds what it has done to the common figures within this time. */
const statisticsMs = 11_000;
const acts = ["create", "claim", "report", "settlement"] as const;
type Act = (typeof acts)[number];
type Costs = {
  readonly roundTrips: number;
  readonly statements: number;
  readonly walBytes: number;
  readonly fsyncs: number;
};

/** The highest number of round trips that the aims allow. */
const aims = { create: 8, job: 8 } as const;

/**
 * What a create, a claim, a progress report and a settlement send to Postgres and make it write, counted: other load
 * does not move these figures. Bytes and fsyncs are the average of many, one after the other.
 */
export async function wireRows(installation: Installation): Promise<Row[]> {
  const owner = await ownerClient(installation);
  const scene = await createScene(installation, "wire1", 1);
  const open = await openDeps(
    readSettings({ ...installation.environment, KULE_LOG_LEVEL: "silent" }),
    createLog("silent"),
  );
  const app = createApp(open.deps);
  const post = async (token: string, path: string, body: object) => {
    const answer = await app.request(`/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.status === 204 ? null : ((await answer.json()) as Record<string, never>);
  };
  const costs = new Map<Act, Costs>();
  const measure = async (act: Act, work: (round: number) => Promise<void>) => {
    const before = await written(owner);
    let [roundTrips, statements] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < rounds; round += 1) {
      const sent = await wireCostsOf(() => work(round));
      roundTrips = Math.min(roundTrips, sent.roundTrips);
      statements = Math.min(statements, sent.statements);
    }
    const after = await written(owner);
    costs.set(act, {
      roundTrips,
      statements,
      walBytes: Math.round((after.walBytes - before.walBytes) / rounds),
      fsyncs: (after.fsyncs - before.fsyncs) / rounds,
    });
  };
  await measure("create", async (round) => {
    await post(scene.organisation.token, "/servers", {
      ...{ name: `wire-${round}`, region: "wire1", image: "ubuntu-24.04", package: "s" },
      subnet_id: scene.subnetIds[0],
    });
  });
  const jobs: { readonly id: string; readonly epoch: number }[] = [];
  await measure("claim", async (round) => {
    const claim = await post(scene.agentToken, "/agent/jobs/claim", {
      ...{ claim_id: `wire-claim-${round}`, agent_version: "bench", capabilities: ["ServerCreate"] },
    });
    jobs.push((claim as unknown as { job: { id: string; epoch: number } }).job);
  });
  const report = async (round: number, body: object) => {
    const { id, epoch } = jobs[round] as (typeof jobs)[number];
    await post(scene.agentToken, `/agent/jobs/${id}/steps`, { epoch, ...body });
  };
  const step = { name: "clone", status: "running" };
  await measure("report", (round) => report(round, { seq: 1, phase: "apply", step }));
  const outcome = { status: "succeeded", observed: { power_state: "on" } };
  await measure("settlement", (round) => report(round, { seq: 2, outcome }));
  scene.close();
  await open.close();
  await owner.end();
  const trips = (act: Act) => costs.get(act)?.roundTrips ?? Number.POSITIVE_INFINITY;
  const job = trips("claim") + trips("report") + trips("settlement");
  return [
    ...acts.map((act): Row => {
      const { roundTrips, statements, walBytes, fsyncs } = costs.get(act) as Costs;
      const limit = act === "create" ? aims.create : null;
      return {
        what: `a ${act}`,
        ours: `${roundTrips} round trips`,
        floor: `${statements} statements, ${walBytes} bytes of WAL, ${fsyncs.toFixed(1)} fsyncs`,
        ratio: "–",
        aim: limit === null ? "–" : `≤ ${limit} round trips`,
        reached: limit === null ? null : roundTrips <= limit,
      };
    }),
    {
      what: "claim + report + settlement",
      ours: `${job} round trips`,
      floor: "–",
      ratio: "–",
      aim: `≤ ${aims.job} round trips`,
      reached: job <= aims.job,
    },
  ];
}

/** Since Postgres started: bytes by all of its processes, and fsyncs that a client's connection has waited for. */
async function written(owner: pg.Client): Promise<{ walBytes: number; fsyncs: number }> {
  await new Promise((resolve) => setTimeout(resolve, statisticsMs));
  const { rows } = await owner.query<{ wal: string; fsyncs: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
            (select coalesce(sum(fsyncs), 0) from pg_stat_io where object = 'wal' and backend_type = 'client backend') as fsyncs`,
  );
  return { walBytes: Number(rows[0]?.wal), fsyncs: Number(rows[0]?.fsyncs) };
}
