import { setTimeout as delay } from "node:timers/promises";
import type { TestProcess } from "@kule/testing/child-process";
import { untilReadyOrDead } from "../job-kinds/crash-batch.ts";
import type { RegionScene } from "../job-kinds/region-scene.ts";
import { brokenInvariants, newSubject, type Subject } from "../job-kinds/scene.ts";
import { type FalseClock, fitsOffset } from "./false-clock.ts";
import { LeaseWatch } from "./lease-watch.ts";
import type { Skew } from "./skews.ts";

/** Where the agent is killed whose job is taken over. */
const DEATHS = [
  "agent.claim.reply-read",
  "ServerCreate.clone.before-send",
  "ServerCreate.clone.effect-done",
  "ServerCreate.configure.reply-read",
] as const;
const SERVERS = 5;
const TIMEOUT_MILLISECONDS = 40_000;

export type Clocks = { readonly agents: FalseClock; readonly controlPlane: FalseClock };

export type SkewedJobs = {
  readonly jobs: number;
  readonly takenOver: number;
  readonly violations: readonly string[];
  readonly recoverySeconds: readonly number[];
};

type Options = {
  readonly scene: RegionScene;
  readonly clocks: Clocks;
  readonly skew: Skew;
  readonly leaseSeconds: number;
  readonly random: () => number;
};

/**
 * Creates, deletes, restores and a destroy of servers while clocks are wrong, with one agent that is killed
 * in the middle.
 */
export async function runSkewedJobs(options: Options): Promise<SkewedJobs> {
  const { scene, clocks, skew, leaseSeconds } = options;
  const violations: string[] = [];
  const startAgent = (more: Readonly<Record<string, string>>) =>
    scene.world.startAgent({ ...clocks.agents.environment, ...more });
  const place = DEATHS[Math.floor(options.random() * DEATHS.length)] ?? DEATHS[0];
  const since = await postgresTime(scene);
  const watch = new LeaseWatch(scene.owner, leaseSeconds);
  const victim = startAgent({ BATTERY_CRASH: place, KULE_AGENT_CONCURRENCY: "2" });
  await untilReadyOrDead([victim]);
  const subjects = await Promise.all(Array.from({ length: SERVERS }, () => createServer(scene)));
  if (!(await died(victim))) violations.push(`no agent came to ${place}`);
  const diedAt = performance.now();
  const held = await leasesHeld(scene);

  const agents = [1, 2].map(() => startAgent({ KULE_AGENT_CONCURRENCY: "4" }));
  try {
    const recoveries = held.map(async ({ id }) =>
      (await untilOver(scene, id)) ? [(performance.now() - diedAt) / 1000] : [],
    );
    const lives = Promise.all(subjects.map((subject, index) => runLifecycle(scene, subject, index)));
    if (skew.midJob !== null && !(await setMidJob(options, since, lives)))
      violations.push("no job was in the middle of a long step when the clock was to be set");
    violations.push(...(await lives).flat());
    const recoverySeconds = (await Promise.all(recoveries)).flat();
    violations.push(...(await rightClocks(scene, agents, skew)));
    await Promise.all(agents.map((agent) => agent.end()));
    violations.push(...(await watch.end()));
    violations.push(...(await wrongTakeOvers(scene, since, held)));
    violations.push(...(await brokenInvariants(scene)));
    const { rows } = await scene.owner.query<{ count: number }>(
      "select count(*)::integer as count from job where created_at > $1::timestamptz and region = $2",
      [since, scene.region],
    );
    return { jobs: rows[0]?.count ?? 0, takenOver: held.length, violations, recoverySeconds };
  } finally {
    await Promise.all(agents.map((agent) => agent.end("SIGKILL")));
    await watch.end();
  }
}

/** Whose clock was not wrong in the end: nothing would have been tested. */
async function rightClocks(
  scene: RegionScene,
  agents: readonly TestProcess[],
  { atFirst, midJob }: Skew,
): Promise<string[]> {
  const meant = midJob ?? atFirst;
  const answer = await fetch(`${scene.world.apiUrl}/readyz`);
  const said = [
    { who: "the API", offset: meant.controlPlane, at: Date.parse(answer.headers.get("Date") ?? "") },
    ...agents.map((agent) => ({ who: "an agent", offset: meant.agents, at: lastLogTime(agent) })),
  ];
  return said
    .filter(({ offset, at }) => !fitsOffset(offset, at - Date.now()))
    .map(
      ({ who, offset, at }) => `the clock of ${who} was to be ${offset}, and is ${at - Date.now()} ms off`,
    );
}

function lastLogTime(agent: TestProcess): number {
  const line = agent.output().trimEnd().split("\n").at(-1) ?? "";
  return Date.parse(/"time":"([^"]+)"/.exec(line)?.[1] ?? "");
}

async function createServer(scene: RegionScene): Promise<Subject> {
  const subject = await newSubject(scene);
  const body = { name: subject.name, region: scene.region, image: scene.image, package: "s" };
  const answer = await subject.api.post("/servers", body);
  if (answer.status !== 202) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  subject.server = answer.body.server.id;
  return subject;
}

/** Every server is created; of five one is destroyed, one restored from the buffer, one stays in it. */
async function runLifecycle(scene: RegionScene, subject: Subject, index: number): Promise<string[]> {
  const found: string[] = [];
  const over = async (kind: Parameters<RegionScene["work"]>[1]) => {
    const job = await scene.work(subject, kind);
    if (job.status !== "succeeded")
      found.push(
        `${kind} ${job.id} is ${job.status} in attempt ${job.attempt}: ${JSON.stringify(job.error)}`,
      );
    return job.status === "succeeded";
  };
  const path = `/servers/${subject.server}`;
  if (!(await over("ServerCreate")) || index > 2) return found;
  const removed = await subject.api.delete(path);
  if (removed.status !== 202) return [...found, `DELETE ${path} answers ${removed.status}`];
  if (!(await over("ServerStop"))) return found;
  found.push(...(await wrongBuffer(scene, subject)));
  if (index === 0) {
    await scene.endBuffer(subject);
    await untilJob(scene, subject, "ServerDestroy");
    await over("ServerDestroy");
  } else if (index === 1) {
    const restored = await subject.api.post(`${path}/cancel-deletion`);
    if (restored.status !== 202) return [...found, `POST ${path}/cancel-deletion answers ${restored.status}`];
    await over("ServerRestore");
  }
  return found;
}

/** The buffer is an hour by Postgres' clock. */
async function wrongBuffer(scene: RegionScene, { server }: Subject): Promise<string[]> {
  const { rows } = await scene.owner.query<{ seconds: number }>(
    "select extract(epoch from purge_at - deletion_requested_at)::float8 as seconds from server where id = $1 and purge_at > clock_timestamp() + interval '50 minutes' and purge_at < clock_timestamp() + interval '1 hour'",
    [server],
  );
  return rows.length === 1 ? [] : [`the removal buffer of ${server} does not end in an hour`];
}

async function untilJob(scene: RegionScene, { server }: Subject, kind: string): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  for (;;) {
    const { rowCount } = await scene.owner.query("select 1 from job where resource_id = $1 and kind = $2", [
      server,
      kind,
    ]);
    if (rowCount === 1 || performance.now() > deadline) return;
    await delay(100);
  }
}

type Held = { readonly id: string; readonly lease_until: string };

async function leasesHeld(scene: RegionScene): Promise<Held[]> {
  const { rows } = await scene.owner.query<Held>(
    "select id, lease_until::text from job where status = 'running' and region = $1",
    [scene.region],
  );
  return rows;
}

/**
 * A job is taken over when its lease has expired by Postgres' clock: not before, and not from a running
 * agent.
 */
async function wrongTakeOvers(scene: RegionScene, since: string, held: readonly Held[]): Promise<string[]> {
  const found: string[] = [];
  if (held.length === 0) found.push("the agent that died held no job: nothing was taken over");
  const { rows } = await scene.owner.query<{ id: string; kind: string; epoch: number }>(
    "select id, kind, epoch from job where created_at > $1::timestamptz and region = $2",
    [since, scene.region],
  );
  for (const { id, kind, epoch } of rows) {
    const lease = held.find((each) => each.id === id);
    if (lease === undefined) {
      if (epoch > 1) found.push(`${kind} ${id} was claimed ${epoch} times though its agent lived`);
      continue;
    }
    if (epoch > 2) found.push(`${kind} ${id} was claimed ${epoch} times after one crash`);
    const early = await scene.owner.query(
      "select 1 from job_step where job_id = $1 and epoch > 1 and started_at < $2::timestamptz",
      [id, lease.lease_until],
    );
    if (early.rowCount !== 0) found.push(`${kind} ${id} was taken over before its lease had ended`);
  }
  return found;
}

async function postgresTime(scene: RegionScene): Promise<string> {
  const { rows } = await scene.owner.query<{ now: string }>("select clock_timestamp()::text as now");
  return rows[0]?.now ?? "";
}

async function died(agent: TestProcess): Promise<boolean> {
  const end = await Promise.race([agent.ended, delay(TIMEOUT_MILLISECONDS, null, { ref: false })]);
  if (end?.signal !== "SIGKILL") await agent.end("SIGKILL");
  return end?.signal === "SIGKILL";
}

async function untilOver(scene: RegionScene, jobId: string): Promise<boolean> {
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  for (;;) {
    const { rowCount } = await scene.owner.query(
      "select 1 from job where id = $1 and finished_at is not null",
      [jobId],
    );
    if (rowCount === 1) return true;
    if (performance.now() > deadline) return false;
    await delay(100);
  }
}

/** Sets the clocks while a guest is being shut down, which takes longer than a lease: it has to be renewed afterwards. */
async function setMidJob(
  { scene, clocks, skew }: Options,
  since: string,
  lives: Promise<unknown>,
): Promise<boolean> {
  let isOver = false;
  const note = () => {
    isOver = true;
  };
  lives.then(note, note);
  while (!isOver) {
    const { rowCount } = await scene.owner.query(
      `select 1 from job_step s join job j on j.id = s.job_id
        where j.kind = 'ServerStop' and j.created_at > $1::timestamptz
          and s.status = 'running' and s.external_ref like '%:qmshutdown:%'`,
      [since],
    );
    if ((rowCount ?? 0) > 0) {
      // The agent has its answer, so no renewal is in transit that would hide the effect on the lease.
      await delay(300);
      clocks.agents.set(skew.midJob?.agents ?? skew.atFirst.agents);
      clocks.controlPlane.set(skew.midJob?.controlPlane ?? skew.atFirst.controlPlane);
      return true;
    }
    await delay(50);
  }
  return false;
}
