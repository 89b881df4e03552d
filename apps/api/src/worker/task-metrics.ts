import { sql } from "kysely";
import { Counter, Gauge, Histogram } from "prom-client";
import type { Deps } from "../platform/deps.ts";
import { scrapeReading } from "../platform/scrape-reading.ts";

/** What a worker tells about its tasks. */
export type TaskMetrics = {
  /** A task begins. Call the returned function with whether it succeeded. */
  begin(task: string): (succeeded: boolean) => void;
  setRunning(isRunning: boolean): void;
  /** Why this process does no tasks now; null when it does. */
  flaw(): Promise<string | null>;
};

export function createTaskMetrics({
  metrics: { registry },
  db,
  log,
}: Pick<Deps, "metrics" | "db" | "log">): TaskMetrics {
  const registers = [registry];
  const running = new Gauge({
    name: "kule_worker_running",
    help: "1 while this worker takes tasks; 0 while it waits for the database",
    registers,
  });
  const ended = new Counter({
    name: "kule_worker_tasks_total",
    help: "Ended tasks of the worker by outcome; one that failed is tried again or is due again later",
    labelNames: ["task", "outcome"],
    registers,
  });
  const duration = new Histogram({
    name: "kule_worker_task_duration_seconds",
    help: "How long tasks of the worker took, whatever their outcome",
    labelNames: ["task"],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  });
  const succeededAt = new Gauge({
    name: "kule_worker_task_success_timestamp_seconds",
    help: "When each task last succeeded in this worker",
    labelNames: ["task"],
    registers,
  });
  let isRunning = false;
  const reachDatabase = scrapeReading(log, "the database", async () => {
    await sql`select 1`.execute(db);
    return true;
  });
  return {
    begin(task) {
      const startedAt = performance.now();
      return (succeeded) => {
        ended.inc({ task, outcome: succeeded ? "succeeded" : "failed" });
        duration.observe({ task }, (performance.now() - startedAt) / 1000);
        if (succeeded) succeededAt.setToCurrentTime({ task });
      };
    },
    setRunning(now) {
      isRunning = now;
      running.set(now ? 1 : 0);
    },
    async flaw() {
      if (!isRunning) return "no tasks are taken: the worker is starting or stopping, or its log says why";
      return (await reachDatabase()) === null ? "the database does not answer" : null;
    },
  };
}
