import { JOB_KINDS } from "@kule/programs/registry";
import { type RegionWorld, startRegionWorld } from "@kule/testing/region-world";
import { type Exchange, HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import {
  claimViolations,
  type JobChange,
  JobJournal,
  jobChangeViolations,
} from "@kule/testing/rig/job-journal";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import { countExchanges, lostClaims, wrongAnswers } from "../delivery/exchange-answers.ts";
import { ServerLives } from "../delivery/server-lives.ts";
import { inParallel } from "../races/in-parallel.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** Servers whose claims are repeated by their agent, and servers whose claimant never reports again. */
const SCALE = { sample: { repeated: 8, abandoned: 4 }, full: { repeated: 80, abandoned: 24 } };
/** An agent has one open claim at a time. */
const AGENTS = ["one", "two", "three", "four"];
/** An agent repeats a claim after one to two seconds. */
const LEASE_SECONDS = 6;
/**
 * A running agent takes over with its claim's next check, every two seconds; the reaper runs every minute.
 */
const TAKEN_OVER_WITHIN_SECONDS = 20;
const SETTLES_WITHIN_SECONDS = 60;
const claims = { method: "POST", path: /\/agent\/jobs\/claim$/ };

export const row: Row = {
  id: "A7",
  title: "A claim whose reply is lost loses no job, and no job has two holders.",
  minutes: 0.7,
  mutants: [
    {
      name: "no-claim-lookup",
      removes: "the lookup of the job that a claim was already given",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: `where \${isOfRegion} and claim_id = p_claim_id and status = 'running'`,
          replace: `where \${isOfRegion} and claim_id = p_claim_id and status = 'lost'`,
        },
      ],
      expects: /claim .*was answered 500|was not answered the job/,
    },
    {
      name: "claims-held-jobs",
      removes: "the check that a lease has expired before a job is claimed again",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: `where \${isOfRegion} and status = 'running' and lease_until < clock_timestamp()`,
          replace: `where \${isOfRegion} and status = 'running'`,
        },
      ],
      expects: /claimed while another lease had not passed/,
    },
  ],
  async run(run) {
    const exchanges: Exchange[] = [];
    const proxies: HttpFaultProxy[] = [];
    const world = await startRegionWorld({
      leaseSeconds: LEASE_SECONDS,
      links: {
        agentToApi: async (target) => {
          const proxy = await HttpFaultProxy.open({
            target,
            random: run.random,
            onExchange: (exchange) => exchanges.push(exchange),
          });
          proxies.push(proxy);
          return proxy.origin;
        },
      },
    });
    const [proxy] = proxies;
    const lives = new ServerLives(world);
    try {
      if (proxy === undefined) throw new Error("the world has not asked for its proxy");
      const journal = await JobJournal.install(world.database.ownerUrl);
      const abandoned = await abandonClaims(run, world, lives, proxy);
      const violations = [...abandoned.violations];
      if (violations.length > 0) return { cases: abandoned.jobs.length, violations };
      // A healthy region takes over what was abandoned.
      for (const name of AGENTS) world.startAgent({ KULE_AGENT_CONCURRENCY: "8" }, { name });
      violations.push(...(await lives.untilSettled(SETTLES_WITHIN_SECONDS)));
      const takeovers = takenOver(abandoned.jobs, await journal.changes());
      violations.push(...takeovers.violations);
      run.progress(`${abandoned.jobs.length} abandoned jobs were taken over`);

      const lost = await loseReplies(run, lives, proxy, exchanges);
      const changes = await journal.changes();
      violations.push(
        ...lost.violations,
        ...wrongAnswers(exchanges),
        ...jobChangeViolations(changes),
        ...claimViolations(changes),
        ...(await lives.failures()),
        ...(await worldViolations(world.database.ownerUrl, "in the end", [
          await viewOfControlServer("lab1", world.labControlUrl),
        ])),
      );
      return {
        cases: lost.repeated + abandoned.jobs.length,
        violations,
        recoverySeconds: takeovers.seconds,
        figures: {
          "replies with a job that were lost and asked for again": lost.repeated,
          "asked for again after the lease": lost.tooLate,
          "claims that were never heard of again": abandoned.jobs.length,
          claims: countExchanges(exchanges).claims,
        },
      };
    } finally {
      await lives.close();
      await world.end();
      for (const each of proxies) await each.close();
    }
  },
};

/** A claim sent by the test; null when the connection ended without a reply. */
async function claim(
  world: RegionWorld,
  origin: string,
  claimId: string,
): Promise<{ status: number; job: string | null; epoch: number } | null> {
  const response = await fetch(`${origin}/api/v1/agent/jobs/claim`, {
    method: "POST",
    headers: { Authorization: `Bearer ${world.agentToken}`, "Content-Type": "application/json" },
    body: JSON.stringify({
      claim_id: claimId,
      agent_version: "0.1.0",
      agent_name: "by-hand",
      capabilities: JOB_KINDS,
    }),
  }).catch(() => null);
  if (response === null) return null;
  const text = await response.text();
  const { job } = (text === "" ? {} : JSON.parse(text)) as { job?: { id: string; epoch: number } };
  return { status: response.status, job: job?.id ?? null, epoch: job?.epoch ?? 0 };
}

/**
 * Claims whose reply is lost. Half of them are repeated while the lease is valid, and must be answered the
 * same job under the same epoch; then no agent reports again.
 */
async function abandonClaims(
  run: RowRun,
  world: RegionWorld,
  lives: ServerLives,
  proxy: HttpFaultProxy,
): Promise<{ jobs: readonly string[]; violations: string[] }> {
  const count = SCALE[run.scale].abandoned;
  await lives.create(count);
  const off = proxy.add({ ...claims, action: "drop-after" });
  const claimIds = Array.from({ length: count }, () => `lost-${Math.floor(run.random() * 1e9)}`);
  await inParallel(count, 4, async (index) => {
    const answer = await claim(world, proxy.origin, claimIds[index] ?? "");
    if (answer !== null) throw new Error("the proxy has not lost the reply");
  });
  off();
  const held = await lives.rows<{ id: string; claim_id: string; epoch: number }>(
    "select id, claim_id, epoch from job where status = 'running'",
  );
  const violations: string[] = [];
  if (held.length === 0) violations.push("none of the lost claims had been given a job");
  for (const [index, { id, claim_id, epoch }] of held.entries()) {
    if (index % 2 === 1) continue;
    const again = await claim(world, proxy.origin, claim_id);
    const isSame = again?.status === 200 && again.job === id;
    // The lease may have expired in the meantime on a slow machine; then the same job is assigned under the
    // next epoch.
    if (!isSame || again.epoch < epoch)
      violations.push(
        `claim ${claim_id}, asked again, was not answered the job ${id} (epoch ${epoch}) but ${JSON.stringify(again)}`,
      );
  }
  return { jobs: held.map(({ id }) => id), violations };
}

/** Each of these jobs must have been taken over once, after the lease of its lost holder, and soon. */
function takenOver(
  jobs: readonly string[],
  changes: readonly JobChange[],
): { violations: string[]; seconds: number[] } {
  const violations: string[] = [];
  const seconds: number[] = [];
  const claimed = changes.filter(({ before, after }) => before !== null && after.epoch > before.epoch);
  const byAgents = claimed.filter(({ after }) => after.agentName !== "by-hand");
  /** Before that there was no agent that could take over. */
  const agentsThereAtMs = byAgents[0]?.atMs ?? 0;
  for (const job of jobs) {
    const abandoned = claimed.findLast((each) => each.job === job && each.after.agentName === "by-hand");
    const [next, ...more] = byAgents.filter((each) => each.job === job);
    if (abandoned === undefined || next === undefined || more.length > 0) {
      const times = next === undefined ? 0 : 1 + more.length;
      violations.push(`${job}, whose claimant was lost, was taken over ${times} times`);
      continue;
    }
    const freeAtMs = Math.max(abandoned.after.leaseUntilMs ?? 0, agentsThereAtMs);
    const waited = (next.atMs - freeAtMs) / 1000;
    seconds.push(Math.max(0, waited));
    if (waited > TAKEN_OVER_WITHIN_SECONDS)
      violations.push(`${job} was taken over ${waited.toFixed(1)} s after the lease of its lost claimant`);
  }
  return { violations, seconds };
}

/** Agents lose replies to their claims and repeat them by themselves. */
async function loseReplies(
  run: RowRun,
  lives: ServerLives,
  proxy: HttpFaultProxy,
  exchanges: readonly Exchange[],
): Promise<{ violations: string[]; repeated: number; tooLate: number }> {
  const wanted = SCALE[run.scale].repeated;
  const from = exchanges.length;
  const lost = () => lostClaims(exchanges.slice(from), LEASE_SECONDS);
  /** A claim loses one reply, seldom two: then it is still repeated before its lease has expired. */
  const losses = new Map<string, number>();
  proxy.add({
    ...claims,
    action: "drop-after",
    when: (body) => {
      const { claim_id } = JSON.parse(body) as { claim_id: string };
      const before = losses.get(claim_id) ?? 0;
      const loses = run.random() < (before === 0 ? 0.8 : before === 1 ? 0.1 : 0);
      if (loses) losses.set(claim_id, before + 1);
      return loses;
    },
  });
  const violations: string[] = [];
  const isBroken = () => lost().violations.length > 0 || wrongAnswers(exchanges).length > 0;
  while (lost().repeated.length < wanted && violations.length === 0 && !isBroken()) {
    const servers = await lives.create(Math.min(wanted, 16));
    violations.push(...(await lives.untilSettled(SETTLES_WITHIN_SECONDS, isBroken)));
    if (violations.length > 0 || isBroken()) break;
    await lives.remove(servers);
    violations.push(...(await lives.untilSettled(SETTLES_WITHIN_SECONDS, isBroken)));
    run.progress(`${lost().repeated.length} replies with a job were lost and asked for again`);
  }
  proxy.clear();
  const { repeated, tooLate, violations: wrong } = lost();
  return { violations: [...violations, ...wrong], repeated: repeated.length, tooLate: tooLate.length };
}
