import type { ProxmoxClient } from "./client.ts";
import { errorOfTask, ProxmoxBadRequest, ProxmoxError, ProxmoxTaskLost } from "./errors.ts";
import { redactText } from "./redaction.ts";
import type { Runtime } from "./runtime.ts";
import { parseUpid } from "./upid.ts";

export type TaskResult = {
  /** Null for OK; the log's last lines for WARNINGS, which is a success too. */
  readonly warnings: string | null;
};

export type TaskWait = {
  readonly runtime: Runtime;
  readonly deadlineMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
  /** Called after each poll of a task that still runs; may throw to stop waiting. */
  readonly stillRunning?: ((milliseconds: number) => Promise<void>) | undefined;
};

const LOG_TAIL_LINES = 20;
/** A task may be unknown to the status call for a moment after its UPID was given out. */
const UNKNOWN_TASK_POLLS = 3;

/** Most tasks end within a second: the first polls are frequent, the later ones spare the API. */
const FIRST_PAUSE_MILLISECONDS = 25;

function pauseAfter(look: number, elapsed: number): number {
  if (elapsed < 5_000) return Math.min(FIRST_PAUSE_MILLISECONDS * 2 ** look, 500);
  return elapsed < 60_000 ? 2_000 : 5_000;
}

/**
 * Waits for a task on the node that runs it. A failed poll is no failure: the task continues without us.
 * Throws the class of its exit status with the end of its log, or ProxmoxTaskLost (outcome unknown) when the
 * task is not known, was killed, or is still running at the deadline.
 */
export async function waitForTask(client: ProxmoxClient, upid: string, wait: TaskWait): Promise<TaskResult> {
  const task = parseUpid(upid);
  const lost = (text: string) =>
    new ProxmoxTaskLost({
      call: `task ${upid}`,
      status: null,
      text,
      outcome: "unknown",
      fix: null,
      task: { upid, logTail: [] },
    });
  if (!task) throw lost("not a UPID");
  const label = `${task.type} ${task.id}`;
  const startedAt = wait.runtime.now();
  let unknownAnswers = 0;
  for (let looks = 0; ; looks++) {
    const elapsed = wait.runtime.now() - startedAt;
    const status = await look(client, task.node, upid, wait.signal);
    if (status === "unknown") {
      unknownAnswers += 1;
      if (unknownAnswers >= UNKNOWN_TASK_POLLS) throw lost("no such task");
    } else if (status !== "unreachable" && status.status === "stopped") {
      const exitStatus = status.exitstatus ?? "unexpected status";
      if (exitStatus === "OK") return { warnings: null };
      const logTail = await readLogTail(client, task.node, upid, wait.signal);
      if (hasSucceeded(exitStatus)) return { warnings: [exitStatus, ...logTail].join("\n") };
      throw errorOfTask({ upid, label, exitStatus: redactText(exitStatus), logTail });
    }
    if (elapsed >= wait.deadlineMilliseconds)
      throw lost(`still running after ${Math.round(elapsed / 1000)} s`);
    await wait.stillRunning?.(elapsed);
    await wait.runtime.pause(pauseAfter(looks, elapsed), wait.signal);
  }
}

/** Whether a task that ended like this has done what it was for; null while it runs. Warnings are a success too. */
export function hasSucceeded(exitStatus: string | null | undefined): boolean {
  return exitStatus === "OK" || /^WARNINGS: /.test(exitStatus ?? "");
}

type TaskStatus = { status: "running" | "stopped"; exitstatus?: string };

async function look(
  client: ProxmoxClient,
  node: string,
  upid: string,
  signal: AbortSignal | undefined,
): Promise<TaskStatus | "unknown" | "unreachable"> {
  try {
    return await client.call("GET /nodes/{node}/tasks/{upid}/status", { node, upid }, { signal });
  } catch (error) {
    if (error instanceof ProxmoxTaskLost || error instanceof ProxmoxBadRequest) return "unknown";
    if (error instanceof ProxmoxError && error.outcome === "retryable") return "unreachable";
    throw error;
  }
}

/** The last lines of the log; none when they cannot be had, since they are only an explanation. */
async function readLogTail(
  client: ProxmoxClient,
  node: string,
  upid: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  try {
    const lines = await client.call(
      "GET /nodes/{node}/tasks/{upid}/log",
      { node, upid, start: 0, limit: 5000 },
      { signal },
    );
    return lines.slice(-LOG_TAIL_LINES).map((line) => redactText(String(line.t)));
  } catch (error) {
    if (error instanceof ProxmoxError) return [];
    throw error;
  }
}
