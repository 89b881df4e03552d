import { subjectFor } from "@kule/battery/job-kinds/course";
import { RegionScene } from "@kule/battery/job-kinds/region-scene";
import { SCENARIOS } from "@kule/battery/job-kinds/scenarios";
import type { JobEndRow } from "@kule/battery/job-kinds/scene";
import type { ServerJobKind } from "@kule/contract/schemas";
import { migrate } from "@kule/database/migrate";
import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import type { FreshDatabase } from "@kule/testing/database";
import { HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import { ownCertificate } from "@kule/testing/rig/own-certificate";
import { type Installation, ownerClient } from "./installation.ts";
import { coveredMs, type Interval } from "./intervals.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

/** For a busy machine: then the row is late, and still a row. */
const timeoutMs = 120_000;

/**
 * For every kind of job: from its request to `succeeded`, compared with the hypervisor calls of this very
 * job. The calls are recorded by a proxy between agent and lab, which both sides of the ratio pass.
 */
export async function kindRows(installation: Installation, count: number): Promise<Row[]> {
  const database = await ownDatabase(installation);
  const calls: Interval[] = [];
  const proxies: HttpFaultProxy[] = [];
  const identity = ownCertificate();
  const agentToLab = async ({ url }: { readonly url: string }) => {
    const proxy = await HttpFaultProxy.open({
      target: url,
      identity,
      random: () => 0,
      onExchange: ({ cameAtMs, endedAtMs }) =>
        void calls.push({
          beginMs: performance.timeOrigin + cameAtMs,
          endMs: performance.timeOrigin + endedAtMs,
        }),
    });
    proxies.push(proxy);
    return { url: proxy.origin, fingerprint256: identity.fingerprint256 };
  };
  try {
    return await RegionScene.use({ database, leaseSeconds: 20, links: { agentToLab } }, async (scene) => {
      // The agent's other calls to the region belong to no job.
      scene.world.startAgent({ KULE_AGENT_INVENTORY_SECONDS: "3600", KULE_AGENT_HEALTH_SECONDS: "50" });
      const rows: Row[] = [];
      for (const kind of SERVER_JOB_KINDS) rows.push(await kindRow(scene, kind, count, calls));
      return rows;
    });
  } finally {
    for (const proxy of proxies) await proxy.close();
    await database.drop();
  }
}

async function kindRow(
  scene: RegionScene,
  kind: ServerJobKind,
  count: number,
  calls: readonly Interval[],
): Promise<Row> {
  const ours: number[] = [];
  const floor: number[] = [];
  const numbers: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const subject = await subjectFor(scene, kind, (made, of) => scene.work(made, of, timeoutMs));
    await SCENARIOS[kind].cause(scene, subject);
    const job = await scene.work(subject, kind, timeoutMs);
    if (job.status !== "succeeded") throw new Error(`${kind}: ${job.status} ${JSON.stringify(job.error)}`);
    const whole = await lifeOf(scene, job);
    const during = calls.filter(({ beginMs, endMs }) => endMs >= whole.beginMs && beginMs <= whole.endMs);
    ours.push(whole.endMs - whole.beginMs);
    floor.push(coveredMs(during, whole));
    numbers.push(during.length);
  }
  const ratio = median(ours) / median(floor);
  return {
    what: `${kind}, asked for → succeeded`,
    ours: `p50 ${median(ours).toFixed(0)} ms`,
    floor: `p50 ${median(floor).toFixed(0)} ms its ${median(numbers).toFixed(0)} hypervisor calls`,
    ratio: ratio.toFixed(2),
    aim: "≤ 2.00",
    reached: ratio <= 2,
  };
}

/** By Postgres' clock, which is this machine's. */
async function lifeOf(scene: RegionScene, { id }: JobEndRow): Promise<Interval> {
  const { rows } = await scene.owner.query<{ begin: string; end: string }>(
    `select extract(epoch from created_at) * 1000 as begin, extract(epoch from finished_at) * 1000 as "end"
       from job where id = $1`,
    [id],
  );
  return { beginMs: Number(rows[0]?.begin), endMs: Number(rows[0]?.end) };
}

/** In the bench's own Postgres, which writes to the disk as one in earnest does. */
async function ownDatabase(installation: Installation): Promise<FreshDatabase> {
  const name = "kinds";
  const administer = async (statement: string) => {
    const owner = await ownerClient(installation);
    try {
      await owner.query(statement);
    } finally {
      await owner.end();
    }
  };
  const at = (url: string) => {
    const other = new URL(url);
    other.pathname = `/${name}`;
    return other.href;
  };
  await administer(`create database ${name}`);
  const ownerUrl = at(installation.ownerUrl);
  const apiUrl = at(installation.apiDatabaseUrl);
  const workerUrl = new URL(apiUrl);
  workerUrl.username = "kule_worker";
  const { password } = workerUrl;
  await migrate(ownerUrl, { apiPassword: password, workerPassword: password });
  return {
    name,
    ownerUrl,
    apiUrl,
    workerUrl: workerUrl.href,
    drop: () => administer(`drop database ${name} with (force)`),
  };
}
