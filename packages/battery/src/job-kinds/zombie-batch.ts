import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { JobKind } from "@kule/contract/schemas";
import type { TestProcess } from "@kule/testing/child-process";
import type { Exchange } from "@kule/testing/rig/http-fault-proxy";
import type { Course } from "./course.ts";
import { untilReadyOrDead } from "./crash-batch.ts";
import type { CrashPlace } from "./crash-places.ts";
import type { RegionScene } from "./region-scene.ts";
import { brokenInvariants, resourceOf, type Subject } from "./scene.ts";
import type { WatchedApi } from "./watched-api.ts";

/** What the successor is doing when the stopped agents continue. */
export type SuccessorState = "done" | "in the middle";

const REACH_MILLISECONDS = 90_000;
const HOLD_MILLISECONDS = 10_000;
/** An agent's log line about a job that it has lost. */
const GIVEN_UP = "the job is not ours any more";
const GIVE_UP_MILLISECONDS = 10_000;
/** Time to try something even so. */
const AFTERWARDS_MILLISECONDS = 500;
const MANY_TASKS = 10_000;
/** If hardly any of the continued agents was refused, nothing is proven about the fence. */
const LEAST_REFUSED_SHARE = 0.3;

export type ZombieBatch = {
  readonly course: Course;
  readonly places: readonly CrashPlace[];
  readonly subjects: readonly Subject[];
  readonly successor: SuccessorState;
  readonly leaseSeconds: number;
  /** By which the stopped agents reach the API. */
  readonly api: WatchedApi;
  /** Everything in the region that must not change any more; its VMs when left out. */
  readonly stateOf?: () => Promise<string>;
};

export type ZombieResult = {
  readonly violations: readonly string[];
  readonly writes: number;
  readonly refused: number;
  /** Jobs that the successor had not finished when the others continued. */
  readonly heldJobs: number;
};

/**
 * Stops one agent at each of the crash points (SIGSTOP), lets its lease expire and another agent take over,
 * and continues it (SIGCONT) in the middle of what it takes for its job. All that it writes then must be
 * refused.
 */
export async function stopAtEach(scene: RegionScene, batch: ZombieBatch): Promise<ZombieResult> {
  const { course, places, subjects } = batch;
  const { origin: apiOrigin, exchanges } = batch.api;
  const { kind } = course;
  const stateOf = batch.stateOf ?? (async () => JSON.stringify(await scene.vms()));
  const zombies = places.map(({ name, time }) =>
    scene.world.startAgent({ BATTERY_STOP: `${name}@${time}`, KULE_AGENT_CONCURRENCY: "1" }, { apiOrigin }),
  );
  await untilReadyOrDead(zombies);
  await Promise.all(subjects.map((subject) => course.cause(scene, subject)));
  const reached = await Promise.all(zombies.map(stopped));
  const violations = places.flatMap(({ name, time }, index) =>
    reached[index] === true ? [] : [`${kind}: no agent came to ${name}@${time}`],
  );
  await delay(batch.leaseSeconds * 1_000);

  if (batch.successor === "in the middle")
    await scene.control("POST", "/task-faults", { action: "held", count: MANY_TASKS });
  const successor = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: String(Math.max(1, subjects.length)) });
  const heldJobs = batch.successor === "in the middle" ? await untilInTheMiddle(scene, kind, subjects) : 0;
  if (batch.successor === "done") await Promise.all(subjects.map((subject) => scene.work(subject, kind)));

  const before = await formerHolders(scene, batch.successor);
  const state = batch.successor === "done" ? await stateOf() : "";
  const seen = exchanges.length;
  for (const zombie of zombies) zombie.signal("SIGCONT");
  await Promise.all(zombies.map(untilGivenUp));
  await delay(AFTERWARDS_MILLISECONDS);
  const after = await formerHolders(scene, batch.successor);
  violations.push(...changes(before, after, kind));
  if (batch.successor === "done" && (await stateOf()) !== state)
    violations.push(`${kind}: an agent that came back changed the region`);
  const { writes, refused, accepted } = await judgedWrites(scene, exchanges.slice(seen));
  violations.push(...accepted.map((text) => `${kind}: ${text}`));
  await Promise.all(zombies.map((zombie) => zombie.end("SIGKILL")));

  await scene.control("DELETE", "/faults");
  await Promise.all(subjects.map((subject) => scene.work(subject, kind)));
  await successor.end();
  for (const subject of subjects) violations.push(...(await course.violations(scene, subject)));
  violations.push(...(await brokenInvariants(scene)));
  return { violations, writes, refused, heldJobs };
}

/** Nothing when enough of the continued agents' writes were refused to prove something. */
export function untestedFence(what: string, agents: number, refused: number): string[] {
  return refused < agents * LEAST_REFUSED_SHARE
    ? [`only ${refused} writes of ${agents} agents ${what} were refused: the fence was hardly tested`]
    : [];
}

/** True once the process is stopped; false when it does not reach its crash point. */
async function stopped(zombie: TestProcess): Promise<boolean> {
  const deadline = performance.now() + REACH_MILLISECONDS;
  while (zombie.running() && performance.now() < deadline) {
    const stat = readFileSync(`/proc/${zombie.pid}/stat`, "utf8");
    if (stat.slice(stat.lastIndexOf(")") + 2).startsWith("T")) return true;
    await delay(50);
  }
  return false;
}

async function untilGivenUp(zombie: TestProcess): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MILLISECONDS;
  while (zombie.running() && !zombie.output().includes(GIVEN_UP) && performance.now() < deadline)
    await delay(50);
}

/** Waits until every job is in the successor's hands, held by a task or over; answers how many are not over. */
async function untilInTheMiddle(
  scene: RegionScene,
  kind: JobKind,
  subjects: readonly Subject[],
): Promise<number> {
  const deadline = performance.now() + HOLD_MILLISECONDS;
  const resources = subjects.map((subject) => resourceOf(subject, kind));
  for (;;) {
    const { rows } = await scene.owner.query<{ over: number; taken: number }>(
      `select count(*) filter (where finished_at is not null)::int as over,
              count(*) filter (where epoch >= 2 or finished_at is not null)::int as taken
         from job where resource_id = any ($1) and kind = $2`,
      [resources, kind],
    );
    const { over = 0, taken = 0 } = rows[0] ?? {};
    const { tasks } = (await scene.control("GET", "/faults")) as { tasks: readonly { count: number }[] };
    const held = MANY_TASKS - (tasks[0]?.count ?? MANY_TASKS);
    if (taken >= resources.length && over + held >= resources.length) return resources.length - over;
    if (performance.now() > deadline) return resources.length - over;
    await delay(50);
  }
}

/** What must not change any more. While a successor works, that is what former holders have left behind. */
async function formerHolders(scene: RegionScene, successor: SuccessorState): Promise<ReadonlySet<string>> {
  const { rows: steps } = await scene.owner.query<{ row: string }>(
    `select (to_jsonb(st) || jsonb_build_object('of', 'step'))::text as row from job_step st join job j on j.id = st.job_id
      where st.epoch < j.epoch or j.finished_at is not null`,
  );
  const { rows: jobs } = await scene.owner.query<{ row: string }>(
    `select to_jsonb(j)::text as row from job j where finished_at is not null and $1`,
    [successor === "done"],
  );
  const { rows: servers } = await scene.owner.query<{ row: string }>(
    `select (to_jsonb(s) - '{guest,node,observed_at}'::text[])::text as row from server s where $1
     union all select to_jsonb(n)::text from network n where $1
     union all select to_jsonb(b)::text from subnet b where $1
     union all select to_jsonb(g)::text from gateway g where $1
     union all select to_jsonb(u)::text from usage_event u where $1
     union all select to_jsonb(q)::text from graphile_worker._private_jobs q where key like 'job\\_%' and $1`,
    [successor === "done"],
  );
  return new Set([...steps, ...jobs, ...servers].map(({ row }) => row));
}

/** Steps of former holders may become more when jobs change hands, but those that were there stay as they were. */
function changes(before: ReadonlySet<string>, after: ReadonlySet<string>, kind: JobKind): string[] {
  const lost = [...before].filter((row) => !after.has(row));
  return lost
    .slice(0, 3)
    .map((row) => `${kind}: a row was changed after the agents came back: ${row.slice(0, 400)}`);
}

const STEPS = /\/agent\/jobs\/([^/]+)\/steps$/;

async function judgedWrites(
  scene: RegionScene,
  exchanges: readonly Exchange[],
): Promise<{ writes: number; refused: number; accepted: string[] }> {
  const { rows } = await scene.owner.query<{ id: string; epoch: number }>("select id, epoch from job");
  const epochs = new Map(rows.map(({ id, epoch }) => [id, epoch]));
  let writes = 0;
  let refused = 0;
  const accepted: string[] = [];
  for (const { path, requestBody, answers } of exchanges) {
    const job = STEPS.exec(path)?.[1];
    if (job === undefined) continue;
    const { epoch, seq } = JSON.parse(requestBody) as { epoch: number; seq: number };
    if (epoch >= (epochs.get(job) ?? 0)) continue;
    writes += 1;
    // On a slow machine the agent times out before the answer arrives: what it would have been is queried.
    const heard = answers.filter((answer) => answer !== null);
    for (const { status, body } of heard.length > 0 ? heard : [await sentAgain(scene, path, requestBody)])
      if (status === 409 && body.includes("stale_lease")) refused += 1;
      else
        accepted.push(
          `report ${seq} under epoch ${epoch} of ${job} was answered ${status} while its epoch was ${epochs.get(job)}`,
        );
  }
  return { writes, refused, accepted };
}

async function sentAgain(scene: RegionScene, path: string, body: string) {
  const { origin } = new URL(scene.world.apiUrl);
  const answer = await fetch(`${origin}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${scene.world.agentToken}`, "content-type": "application/json" },
    body,
  });
  return { status: answer.status, body: await answer.text() };
}
