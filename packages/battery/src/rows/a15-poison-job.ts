import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ApiCaller } from "@kule/api/testing/api-caller";
import type { TestProcess } from "@kule/testing/child-process";
import { poisonAtCertificates } from "../certificate-jobs/poison-certificates.ts";
import { endViolations } from "../job-kinds/course.ts";
import { untilReadyOrDead } from "../job-kinds/crash-batch.ts";
import { jobRow, POISONS, poisonViolations } from "../job-kinds/poison-jobs.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { SCENARIOS } from "../job-kinds/scenarios.ts";
import { brokenInvariants, latestJob, newSubject, type Subject } from "../job-kinds/scene.ts";
import { poisonAtLoadBalancers } from "../load-balancer-jobs/poison-load-balancers.ts";
import { poisonAtNetworks } from "../network-jobs/poison-networks.ts";
import { atEdge, inTurn } from "../network-jobs/without-edge.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** Healthy jobs that wait behind the poisonous ones. */
const NORMAL_JOBS = 6;
const ROUNDS = { sample: 1, full: 4 };
/** A waiting claim checks again at this interval. */
const POLL_SECONDS = 2;
/** Healthy jobs are waited for so long. */
const TIMEOUT_MILLISECONDS = 12_000;
/** A failed job is read again after this: it must still have failed. */
const AFTERWARDS_MILLISECONDS = 1_500;

export const row: Row = {
  id: "A15",
  title: "A job that cannot succeed is detected and ended, and the jobs behind it do not wait.",
  minutes: 2,
  mutants: [
    {
      name: "capabilities-ignored",
      removes: "the choice of jobs by the agent's capabilities",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and kind = any (p_capabilities) and attempt < max_attempts",
          replace: "and attempt < max_attempts",
        },
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and j.kind = any (p_capabilities)",
          replace: "",
        },
      ],
      expects:
        /a kind that nobody knows: the job is|an agent that knows only ServerCreate was given ServerStop/,
    },
    {
      name: "claim-refused-for-poison",
      removes: "the end of an attempt whose payload cannot be rendered",
      patches: [
        {
          file: "apps/api/src/agent/claim-job.ts",
          find: "return new NotAssigned(job, unrenderable(error), error);",
          replace: "throw error;",
        },
      ],
      expects: /healthy jobs behind the poisonous ones waited/,
    },
    {
      name: "stranded-for-ever",
      removes: "the end of a network's job that no agent claims without an edge",
      patches: [
        {
          file: "apps/api/src/products/networks/edge-gone.ts",
          find: '.where("region.has_edge", "=", false)',
          replace: '.where("region.has_edge", "is", null)',
        },
      ],
      expects: /no agent has an edge any more: the job is queued/,
    },
  ],
  run: (run) =>
    inTurn(
      () => poisonAtServers(run),
      () => poisonAtLoadBalancers(run),
      () => poisonAtCertificates(run),
      () => atEdge(run, (testbed) => poisonAtNetworks(run, testbed)),
    ),
};

function poisonAtServers(run: RowRun): Promise<RowResult> {
  return RegionScene.use({ leaseSeconds: 10 }, async (scene) => {
    const violations: string[] = [];
    const { agent: first, seconds: without } = await startSeconds(scene, () => Promise.resolve());
    await first.end();
    let worst = 0;
    let cases = 0;
    for (let round = 0; round < ROUNDS[run.scale] && violations.length === 0; round += 1) {
      const ids = new Map<string, string>();
      const started = await startSeconds(scene, async () => {
        for (const poison of POISONS) ids.set(poison.name, await poison.insert(scene));
      });
      const { agent } = started;
      const longer = started.seconds - without;
      worst = Math.max(worst, longer);
      if (longer >= POLL_SECONDS)
        violations.push(
          `healthy jobs behind the poisonous ones waited ${longer.toFixed(1)} s longer than without them`,
        );
      for (const poison of violations.length > 0 ? [] : POISONS)
        violations.push(...(await poisonViolations(scene, poison, ids.get(poison.name) ?? "")));
      await delay(AFTERWARDS_MILLISECONDS);
      for (const poison of POISONS) {
        const job = await jobRow(scene, ids.get(poison.name) ?? "");
        if (violations.length === 0 && job.attempt !== poison.ends.attempt)
          violations.push(`${poison.name}: it was tried again after it had been given up`);
      }
      await agent.end();
      cases += POISONS.length;
      run.progress(`${cases} poisonous jobs, ${violations.length} violations`);
    }
    if (violations.length > 0) return { cases, violations };
    violations.push(...(await oldAgentViolations(scene)));
    cases += 1;
    violations.push(...(await brokenInvariants(scene)));
    return {
      cases,
      violations,
      figures: {
        "healthy jobs in each round": NORMAL_JOBS,
        "longest head-of-line delay in s": Number(Math.max(0, worst).toFixed(2)),
      },
    };
  });
}

/**
 * Seconds from an agent's first claim until the last of the healthy jobs, which have been waiting, has
 * started.
 */
async function startSeconds(
  scene: RegionScene,
  insertBefore: () => Promise<void>,
): Promise<{ seconds: number; agent: TestProcess }> {
  await insertBefore();
  const subjects: Subject[] = [];
  for (let made = 0; made < NORMAL_JOBS; made += 1) {
    const subject = await newSubject(scene);
    await SCENARIOS.ServerCreate.cause(scene, subject);
    subjects.push(subject);
  }
  const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "4" });
  await untilReadyOrDead([agent]);
  const { rows: now } = await scene.owner.query<{ now: Date }>("select clock_timestamp() as now");
  const releasedAt = now[0]?.now.getTime() ?? 0;
  await Promise.all(subjects.map((subject) => scene.work(subject, "ServerCreate", TIMEOUT_MILLISECONDS)));
  const { rows } = await scene.owner.query<{ started_at: Date | null }>(
    "select started_at from job where resource_id = any ($1) and kind = 'ServerCreate'",
    [subjects.map(({ server }) => server)],
  );
  const starts = rows.map(({ started_at }) => (started_at ?? new Date()).getTime());
  return { seconds: (Math.max(...starts) - releasedAt) / 1_000, agent };
}

/** An agent from before a kind existed is assigned the other jobs, and leaves this one to a newer agent. */
async function oldAgentViolations(scene: RegionScene): Promise<string[]> {
  const { rows } = await scene.owner.query<{ id: string; organisation_id: string }>(
    `select id, organisation_id from server s where status = 'running'
       and not exists (select 1 from job j where j.resource_id = s.id and j.status in ('queued', 'running')) limit 1`,
  );
  const [server] = rows;
  if (server === undefined) return ["no server runs, so that there is none to stop"];
  const stopped: Subject = {
    name: "stopped",
    organisation: server.organisation_id,
    api: scene.operator.with({ "Kule-Organisation": server.organisation_id }),
    server: server.id,
    network: "",
    loadBalancer: "",
    certificate: "",
  };
  await SCENARIOS.ServerStop.cause(scene, stopped);
  const created = await newSubject(scene);
  await SCENARIOS.ServerCreate.cause(scene, created);
  const { origin } = new URL(scene.world.apiUrl);
  const request = async (path: string, init?: RequestInit) => fetch(`${origin}${path}`, init);
  const old = new ApiCaller({ request } as unknown as ApiCaller["app"], scene.world.agentToken);
  const violations: string[] = [];
  for (let claim = 0; claim < 3; claim += 1) {
    const answer = await old.post("/agent/jobs/claim", {
      claim_id: randomUUID(),
      agent_version: "0.0.1",
      capabilities: ["ServerCreate"],
    });
    const kind = answer.body?.job?.kind as string | undefined;
    if (claim === 0 && kind === undefined)
      violations.push("an agent that knows only ServerCreate was given nothing");
    if (kind !== undefined && kind !== "ServerCreate")
      violations.push(`an agent that knows only ServerCreate was given ${kind}`);
  }
  const waiting = await latestJob(scene, stopped, "ServerStop");
  if (waiting?.attempt !== 0)
    violations.push("the ServerStop behind an old agent did not wait for a newer one");
  await scene.owner.query(
    "update job set lease_until = clock_timestamp() - interval '1 second' where status = 'running'",
  );
  const agent = scene.world.startAgent();
  await scene.work(stopped, "ServerStop");
  await scene.work(created, "ServerCreate");
  await agent.end();
  return [
    ...violations,
    ...(await endViolations(scene, stopped, "ServerStop")),
    ...(await endViolations(scene, created, "ServerCreate")),
  ];
}
