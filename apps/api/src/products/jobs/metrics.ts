import { sql } from "kysely";
import { Gauge } from "prom-client";
import { type Database, systemQuery } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { regionLabel } from "../../platform/job-metrics.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";
import { countStuckJobs, mostCountedStuck } from "./stuck-jobs.ts";

/** A longer queue is read no further: what matters is that it is long. */
const mostCounted = 10_000;

/** Adds the regions' queues and the stuck jobs to the process' metrics; every replica reports the same values. */
export function registerJobMetrics({ metrics: { registry }, db, log }: Deps): void {
  const readQueues = scrapeReading(log, "the queues", () => readOpenJobs(db));
  const readStuck = scrapeReading(log, "the stuck jobs", () => countStuckJobs(db));
  new Gauge({
    name: "kule_jobs",
    help: `Queued and running jobs of each region, of each at most ${mostCounted}`,
    labelNames: ["region", "status"],
    registers: [registry],
    async collect() {
      const rows = await readQueues();
      if (rows === null) return;
      this.reset();
      for (const { region, queued, running } of rows) {
        this.set({ region: regionLabel(region), status: "queued" }, queued);
        this.set({ region: regionLabel(region), status: "running" }, running);
      }
    },
  });
  new Gauge({
    name: "kule_job_queue_age_seconds",
    help: "How long the longest waiting job of each region could have been claimed; 0: none waits",
    labelNames: ["region"],
    registers: [registry],
    async collect() {
      const rows = await readQueues();
      if (rows === null) return;
      this.reset();
      for (const { region, age } of rows) this.set({ region: regionLabel(region) }, Math.max(0, age ?? 0));
    },
  });
  new Gauge({
    name: "kule_jobs_stuck",
    help: `Jobs that do not proceed without help, by reason, of each at most ${mostCountedStuck}`,
    labelNames: ["reason"],
    registers: [registry],
    async collect() {
      const rows = await readStuck();
      if (rows === null) return;
      for (const { reason, jobs } of rows) this.set({ reason }, jobs);
    },
  });
}

type Queue = {
  /** Null for the jobs of the control plane itself. */
  readonly region: string | null;
  readonly queued: number;
  readonly running: number;
  readonly age: number | null;
};

/** By the index of claims: one range of it for each region and status. */
async function readOpenJobs(db: Database): Promise<Queue[]> {
  const all = systemQuery(db, "operators see how long the queues are");
  const first = (status: "queued" | "running", region: ReturnType<typeof sql<boolean>>) =>
    all
      .selectFrom("job")
      .select("run_at")
      .where("status", "=", sql.lit(status))
      .where(region)
      .limit(mostCounted);
  const queue = (region: ReturnType<typeof sql<boolean>>) => sql`
    select count(*)::integer as queued,
           extract(epoch from clock_timestamp() - min(run_at) filter (where run_at <= clock_timestamp()))::float8 as age
      from (${first("queued", region)}) waiting`;
  const running = (region: ReturnType<typeof sql<boolean>>) =>
    sql`select count(*)::integer as running from (${first("running", region)}) held`;
  const ofRegion = sql<boolean>`job.region = region.slug`;
  const ofNone = sql<boolean>`job.region is null`;
  const { rows } = await sql<Queue>`
    select region.slug as region, queue.queued, queue.age, work.running
      from region cross join lateral (${queue(ofRegion)}) queue cross join lateral (${running(ofRegion)}) work
    union all
    select null, queue.queued, queue.age, work.running
      from (${queue(ofNone)}) queue, (${running(ofNone)}) work`.execute(all);
  return rows;
}
