import { startRegionWorld } from "@kule/testing/region-world";
import { type Exchange, HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import { claimViolations, JobJournal, jobChangeViolations } from "@kule/testing/rig/job-journal";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import { countExchanges, wrongAnswers } from "../delivery/exchange-answers.ts";
import { wronglyRecorded } from "../delivery/recorded-once.ts";
import { ServerLives } from "../delivery/server-lives.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** Copies that must have been delivered, and how many servers exist at a time until then. */
const SCALE = { sample: { delivered: 400, servers: 6 }, full: { delivered: 10_000, servers: 40 } };
const CONCURRENCY = 8;
const SETTLES_WITHIN_SECONDS = 60;

/**
 * Every request is repeated, or overtaken by a later one; first the claims, whose late copies may hold a job
 * needlessly.
 */
function disturb(proxy: HttpFaultProxy): void {
  const claims = { method: "POST", path: /\/agent\/jobs\/claim$/ };
  proxy.add({ ...claims, action: "duplicate", copies: 2, order: "at-once", probability: 0.6 });
  proxy.add({ ...claims, action: "duplicate", copies: 3, order: "one-after-other", apartMs: 20 });
  proxy.add({ action: "reorder", heldMs: 150, probability: 0.04 });
  proxy.add({ action: "duplicate", copies: 2, order: "at-once", probability: 0.25 });
  proxy.add({ action: "duplicate", copies: 3, order: "at-once", probability: 0.33 });
  proxy.add({ action: "duplicate", copies: 2, order: "one-after-other", apartMs: 400, probability: 0.5 });
  proxy.add({ action: "duplicate", copies: 3, order: "one-after-other", apartMs: 400 });
}

export const row: Row = {
  id: "A6",
  title: "A request of an agent that arrives two or three times, in or out of order, counts once.",
  minutes: 1.5,
  mutants: [
    {
      name: "no-sequence-test",
      removes: "the test whether a report's number was recorded already",
      patches: [
        {
          file: "apps/api/src/agent/report-step.ts",
          find: "if (report.seq <= job.last_seq) {",
          replace: "if (report.seq < 0) {",
        },
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and epoch = p_epoch and last_seq < p_seq",
          replace: "and epoch = p_epoch",
        },
      ],
      expects: /one report was recorded twice|its reports went back|is recorded \d+ times|was answered 500/,
    },
    {
      name: "no-second-look",
      removes: "the second lookup of a claim whose duplicate was faster",
      patches: [
        {
          file: "apps/api/src/agent/claim-job.ts",
          find: 'if (violatedConstraint(error) !== "job_claim_id") throw error;',
          replace: "throw error;",
        },
      ],
      expects: /claim .*was answered 500/,
    },
  ],
  async run(run) {
    const exchanges: Exchange[] = [];
    const proxies: HttpFaultProxy[] = [];
    const world = await startRegionWorld({
      leaseSeconds: 10,
      links: {
        agentToApi: async (target) => {
          const proxy = await HttpFaultProxy.open({
            target,
            random: run.random,
            onExchange: (exchange) => exchanges.push(exchange),
          });
          proxies.push(proxy);
          disturb(proxy);
          return proxy.origin;
        },
      },
    });
    const lives = new ServerLives(world);
    try {
      const journal = await JobJournal.install(world.database.ownerUrl);
      for (const name of ["one", "two"])
        world.startAgent({ KULE_AGENT_CONCURRENCY: String(CONCURRENCY) }, { name });
      const violations = await live(run, lives, exchanges);
      for (const proxy of proxies) proxy.clear();
      const changes = await journal.changes();
      const { clones, destroys } = world.effects();
      for (const [what, counts] of Object.entries({ cloned: clones, destroyed: destroys }))
        for (const [vmid, count] of counts)
          if (count !== 1) violations.push(`VM ${vmid} was ${what} ${count} times`);
      violations.push(
        ...wrongAnswers(exchanges),
        ...jobChangeViolations(changes),
        ...claimViolations(changes),
        ...(await lives.failures()),
        ...(await wronglyRecorded(lives)),
        ...(await worldViolations(world.database.ownerUrl, "in the end", [
          await viewOfControlServer("lab1", world.labControlUrl),
        ])),
      );
      const { requests, delivered, reports, claims } = countExchanges(exchanges);
      const jobs = new Set(changes.map(({ job }) => job));
      if (jobs.size === 0) violations.push("no job was seen to change: the journal is blind");
      return {
        cases: delivered,
        violations,
        figures: {
          "requests of agents": requests,
          delivered,
          "reports among them": reports,
          "claims among them": claims,
          jobs: jobs.size,
          "claims by copies that nobody read": changes.filter(
            ({ after }) => after.epoch > 1 && after.seq === 0,
          ).length,
        },
      };
    } finally {
      await lives.close();
      await world.end();
      for (const proxy of proxies) await proxy.close();
    }
  },
};

/** Creates and deletes servers until enough has been delivered, or something is broken. */
async function live(run: RowRun, lives: ServerLives, exchanges: readonly Exchange[]): Promise<string[]> {
  const wanted = SCALE[run.scale];
  const isBroken = () => wrongAnswers(exchanges).length > 0;
  const settled = () => lives.untilSettled(SETTLES_WITHIN_SECONDS, isBroken);
  for (let delivered = 0; delivered < wanted.delivered; ) {
    const servers = await lives.create(wanted.servers);
    let stuck = await settled();
    if (stuck.length === 0 && !isBroken()) {
      await lives.remove(servers);
      stuck = await settled();
    }
    delivered = countExchanges(exchanges).delivered;
    run.progress(`${delivered} of ${wanted.delivered} requests delivered`);
    if (stuck.length > 0 || isBroken()) return stuck;
  }
  // The last servers stay, so that the end of the run has something to compare with the region.
  await lives.create(2);
  return settled();
}
