import { taskErrorText } from "../api-error.ts";
import type { TaskDocument } from "../documents.ts";
import type { Effect } from "../journal.ts";
import type { Region } from "../region.ts";
import type { DocumentChange } from "../store.ts";
import type { TaskFault } from "./task-faults.ts";
import { formatUpid } from "./upid.ts";

/** The worker process died (SIGKILL, power loss): nothing behind this point runs, no clean-up either. */
export class WorkerKilled extends Error {}

/** A task's own view of itself while it runs. */
export interface Worker {
  readonly upid: string;
  readonly user: string;
  log(line: string): void;
  /** Logs "WARN: ..." and makes the task end with WARNINGS. */
  warn(line: string): void;
  /** Names the stage that begins; a fault may kill or hold the worker here. */
  stage(name: string): Promise<void>;
  /** Waits simulated time; throws {@link WorkerKilled} when it is killed in that time. */
  wait(seconds: number): Promise<void>;
  /** Rejects with {@link WorkerKilled} when the worker is killed, and never otherwise. */
  untilKilled(): Promise<never>;
  /** Commits an effect together with the log so far. */
  commit(effect: Effect, changes: readonly DocumentChange[]): void;
}

export interface LiveTask {
  readonly upid: string;
  log(): readonly string[];
  kill(): void;
  /** Resolves when the worker has ended, however it did. */
  readonly ended: Promise<void>;
}

const KEPT_TASKS = 2000;

function prune(region: Region): DocumentChange[] {
  const tasks = region.store.all("task");
  if (tasks.length <= KEPT_TASKS) return [];
  return tasks
    .filter(({ upid }) => !region.live.has(upid))
    .slice(0, tasks.length - KEPT_TASKS)
    .map(({ upid }): DocumentChange => ["task", upid, null]);
}

/**
 * Forks a worker: the UPID is returned (and journalled) before the work begins.
 *
 * @param work throws to end the task with that text; the log's last line has the result
 */
export function startTask(
  region: Region,
  what: { readonly node: string; readonly type: string; readonly id: string; readonly user: string },
  work: (worker: Worker) => Promise<void>,
): string {
  const { runtime, store } = region;
  const parts = {
    ...what,
    pid: 1000 + Math.floor(runtime.random() * 4_000_000),
    pstart: Math.floor(runtime.random() * 0xffff_ffff),
    starttime: Math.floor(runtime.nowMs() / 1000),
  };
  const upid = formatUpid(parts);
  const first: TaskDocument = { ...parts, upid, log: [], endtime: null, exitstatus: null, logMissing: false };
  store.commit(
    { op: "task-started", node: what.node, upid, user: what.user, detail: { type: what.type, id: what.id } },
    [["task", upid, first], ...prune(region)],
  );
  const fault = region.taskFaults.take(what.type, what.id);
  run(region, first, fault, work);
  return upid;
}

function run(
  region: Region,
  first: TaskDocument,
  fault: TaskFault | undefined,
  work: (worker: Worker) => Promise<void>,
): void {
  const { runtime, store, live } = region;
  const { upid, node, user } = first;
  const log: string[] = [];
  let warnings = 0;
  let killed = false;
  let wasHeld = false;
  let die: (error: WorkerKilled) => void = () => undefined;
  const death = new Promise<never>((_, reject) => {
    die = reject;
  });
  death.catch(() => undefined);
  const kill = (): void => {
    killed = true;
    die(new WorkerKilled());
  };
  const document = (end: Partial<TaskDocument> = {}): DocumentChange => [
    "task",
    upid,
    { ...first, log: [...log], ...end },
  ];
  const worker: Worker = {
    upid,
    user,
    log: (line) => log.push(line),
    warn: (line) => {
      warnings += 1;
      log.push(`WARN: ${line}`);
    },
    stage: async (name) => {
      const due = (fault?.stage ?? name) === name;
      if (fault?.action === "killed" && due) kill();
      // Without a stage it is the first one, and not each.
      const again = wasHeld && fault?.stage === undefined;
      if (fault?.action === "held" && due && !again) {
        wasHeld = true;
        await Promise.race([region.taskFaults.hold(upid), death]);
      }
      if (killed) throw new WorkerKilled();
    },
    wait: async (seconds) => {
      await Promise.race([runtime.wait(seconds), death]);
      if (killed) throw new WorkerKilled();
    },
    untilKilled: () => death,
    commit: (effect, changes) => {
      if (killed) throw new WorkerKilled();
      store.commit({ node, upid, user, ...effect }, [...changes, document()]);
    },
  };
  const body = async (): Promise<void> => {
    await worker.wait(0);
    if (fault?.action === "never-ends") await death;
    if (fault?.action === "error") throw new Error(fault.text ?? "unable to open file - Input/output error");
    if (fault?.action !== "ok-without-effect") await work(worker);
    else
      store.commit(
        { op: "world-task-did-nothing", node, vmid: Number(first.id), detail: { type: first.type } },
        [],
      );
    if (fault?.action === "warnings") worker.warn("the lab was asked for a warning");
  };
  const finish = (exitstatus: string, lastLine: string): void => {
    log.push(lastLine);
    store.commit(
      { op: "task-ended", node, upid, user, detail: { type: first.type, id: first.id, exitstatus } },
      [
        document({
          exitstatus,
          endtime: Math.floor(runtime.nowMs() / 1000),
          logMissing: fault?.action === "log-missing",
        }),
      ],
    );
  };
  const ended = body()
    .then(
      () => {
        if (warnings > 0) finish(`WARNINGS: ${warnings}`, `TASK WARNINGS: ${warnings}`);
        else finish("OK", "TASK OK");
      },
      (error: unknown) => {
        if (error instanceof WorkerKilled) {
          store.commit(
            { op: "task-killed", node, upid, user, detail: { type: first.type, id: first.id } },
            [],
          );
          return;
        }
        const text = taskErrorText(error);
        finish(text, `TASK ERROR: ${text}`);
      },
    )
    .finally(() => live.delete(upid));
  live.set(upid, { upid, log: () => log, kill, ended });
}

/** The state of a task: running, or stopped with the status read from the end of its log. */
export function taskState(
  region: Region,
  task: TaskDocument,
): { status: "running" } | { status: "stopped"; exitstatus: string } {
  if (region.live.has(task.upid)) return { status: "running" };
  return { status: "stopped", exitstatus: task.exitstatus ?? "unexpected status" };
}
