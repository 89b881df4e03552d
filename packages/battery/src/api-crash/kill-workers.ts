import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ServerWorld } from "@kule/api/testing/server-world";
import { startProcess, type TestProcess } from "@kule/testing/child-process";
import { worldCheck } from "@kule/testing/world-check/world-check";
import { differenceOf } from "./judge-retry.ts";
import type { LaneFindings } from "./kill-lane.ts";
import { apiEnvironment, lastingSettings } from "./killable-api.ts";
import { changesBetween } from "./row-changes.ts";
import { type Snapshot, SnapshotTaker } from "./table-snapshot.ts";
import { type WorkerScene, workerScenes } from "./worker-scenes.ts";

const DEATH_MILLISECONDS = 15_000;
const RECOVERY_MILLISECONDS = 30_000;
/** The sweep may do a task's work first when a minute begins just then: the case is set up again. */
const TRIES = 3;

type Learned = { readonly changes: readonly string[]; readonly points: readonly string[] };

/** Kills the control plane's worker at every boundary of its tasks; the next worker must end what it left. */
export class WorkerLane {
  readonly #main: string;
  readonly #world: ServerWorld;
  readonly #snapshots: SnapshotTaker;
  readonly #findings: LaneFindings;

  private constructor(main: string, world: ServerWorld, findings: LaneFindings) {
    this.#main = main;
    this.#world = world;
    this.#findings = findings;
    // Of the queue only the regions' jobs: the worker's own entries are added and removed with the worker.
    this.#snapshots = new SnapshotTaker(world.owner, (table, row) =>
      table === "_private_jobs" ? String(row.key).startsWith("job_") : !/invariant|_private/.test(table),
    );
  }

  static async open(main: string, findings: LaneFindings): Promise<WorkerLane> {
    const world = await ServerWorld.open({ ...lastingSettings, removalBufferSeconds: 3600 });
    return new WorkerLane(main, world, findings);
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  /** @returns how many cases there are */
  async killAll(): Promise<number> {
    let cases = 0;
    for (const scene of workerScenes(this.#world)) {
      const learned = await this.#learn(scene);
      for (const point of ["before-begin", "before-commit", "committed", "done"])
        if (!learned.points.includes(point)) this.#found(scene, `passes no boundary ${point}`);
      if (learned.changes.length === 0) this.#found(scene, "changes nothing");
      for (const point of learned.points) await this.#killAt(scene, point, learned);
      cases += learned.points.length;
    }
    return cases;
  }

  async #learn(scene: WorkerScene): Promise<Learned> {
    const trace = path.join(mkdtempSync(path.join(tmpdir(), "kule-worker-")), "trace");
    const id = await scene.prepare();
    const before = await this.#snapshots.take();
    const worker = await this.#start({ BATTERY_TRACE: trace });
    await this.#untilDone(scene, id, worker);
    const prefix = `worker.${scene.task}.`;
    let points: string[] = [];
    for (let looks = 0; looks < 100 && points.at(-1) !== "done"; looks += 1) {
      await delay(20);
      points = readFileSync(trace, "utf8")
        .split("\n")
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length));
    }
    await worker.end();
    const once = points.slice(0, points.indexOf("done") + 1);
    const changes = changesBetween(before, await this.#snapshots.take());
    // Otherwise the agent of the first case would take the job of this one.
    await this.#settle();
    return { changes, points: once };
  }

  async #killAt(scene: WorkerScene, point: string, learned: Learned): Promise<void> {
    const found = (text: string) => this.#found(scene, `killed at ${point}: ${text}`);
    const killed = await this.#kill(scene, point);
    this.#findings.cases += 1;
    if (killed === null) return found(`never reached it in ${TRIES} tries`);
    const { id, before, diedAt } = killed;
    const isAfterCommit = learned.points.indexOf(point) >= learned.points.lastIndexOf("committed");
    const left = differenceOf(
      isAfterCommit ? learned.changes : [],
      changesBetween(before, await this.#snapshots.take()),
    );
    if (left !== null)
      found(`${isAfterCommit ? "not all" : "not nothing"} of it is there (partial): ${left}`);

    // As at a change of the minute: the next worker adds what is due.
    await this.#world.owner.query("delete from graphile_worker._private_known_crontabs");
    const next = await this.#start({}, false);
    if (await this.#untilDone(scene, id, next))
      this.#findings.recoverySeconds.push((performance.now() - diedAt) / 1000);
    else found(`is not done ${RECOVERY_MILLISECONDS / 1000} s after a worker is there again`);
    await next.end();
    const whole = differenceOf(learned.changes, changesBetween(before, await this.#snapshots.take()));
    if (whole !== null) found(`after the next worker it is not done once: ${whole}`);
    for (const { invariant, check, subject } of await worldCheck({
      ownerUrl: this.#world.world.database.ownerUrl,
    }))
      found(`world-check ${invariant} ${check}: ${subject}`);
    await this.#settle();
  }

  async #kill(
    scene: WorkerScene,
    point: string,
  ): Promise<{ id: string; before: Snapshot; diedAt: number } | null> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const id = await scene.prepare();
      const before = await this.#snapshots.take();
      const worker = await this.#start({ BATTERY_CRASH: `worker.${scene.task}.${point}` });
      const end = await Promise.race([worker.ended, delay(DEATH_MILLISECONDS, null, { ref: false })]);
      if (end?.signal === "SIGKILL") return { id, before, diedAt: performance.now() };
      await worker.end("SIGKILL");
      await this.#settle();
    }
    return null;
  }

  /** @param hasHadItsTurn nothing recurring is due before the next minute */
  async #start(battery: Readonly<Record<string, string>>, hasHadItsTurn = true): Promise<TestProcess> {
    if (hasHadItsTurn)
      await this.#world.owner.query(
        `insert into graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
         select name, now(), date_bin(make_interval(mins => minutes), clock_timestamp(), timestamptz 'epoch')
           from (values ('sweep_removal_buffers', 1), ('reap_leases', 1), ('end_lost_consoles', 1), ('clean_up', 10),
                       ('check_edges', 5), ('check_domains', 1), ('compare_domains', 1), ('serve_pointers', 10),
                       ('compare_pointers', 60), ('keep_history', 60),
                       ('check_invariants', 10))
                as listed (name, minutes)
         on conflict (identifier) do update set last_execution = excluded.last_execution`,
      );
    const { workerUrl, apiUrl } = this.#world.world.database;
    return startProcess("worker", [this.#main, "worker"], {
      ...apiEnvironment(apiUrl),
      KULE_WORKER_DATABASE_URL: workerUrl,
      ...battery,
    });
  }

  async #untilDone(scene: WorkerScene, id: string, worker: TestProcess): Promise<boolean> {
    const deadline = performance.now() + RECOVERY_MILLISECONDS;
    while (!(await scene.isDone(id))) {
      if (performance.now() > deadline || !worker.running()) return false;
      await delay(50);
    }
    return true;
  }

  /** Ends the jobs of the case, so that the next one begins in a quiet world. */
  async #settle(): Promise<void> {
    await this.#world.passBackoff();
    await this.#world.agent.work();
    await this.#world.owner.query(
      "delete from graphile_worker._private_jobs where key is null or key not like 'job_%'",
    );
  }

  #found({ task }: WorkerScene, text: string): void {
    this.#findings.violations.push(`the worker's ${task} ${text}`);
  }
}
