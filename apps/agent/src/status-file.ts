// What the running agent does, in a file of its state folder: `kule-agent status` reads it.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentWatcher, HealthSeen, UpdateSeen } from "./agent-watcher.ts";
import type { Logger } from "./log.ts";
import type { AgentRuntime } from "./runtime.ts";

const FILE_NAME = "status.json";
/** Between two writes: an agent with many jobs begins several steps a second. */
const SHORTEST_PAUSE_MILLISECONDS = 500;

export type AgentStatus = {
  readonly version: string;
  readonly name: string;
  readonly region: string;
  readonly control_plane: string;
  readonly pid: number;
  /** Of the process, by the kernel: another process with this number has another one. */
  readonly process_start: string | null;
  readonly started_at: string;
  readonly written_at: string;
  readonly state: "working" | "stopped";
  readonly jobs: readonly RunningStatus[];
  readonly last_claim: { readonly job: string; readonly kind: string; readonly at: string } | null;
  /** The last call for a job: whether the control plane took it. */
  readonly control_plane_trouble: string | null;
  readonly last_health: (HealthSeen & { readonly at: string }) | null;
  /**
   * When the control plane took this process' first health report, and answered its first claim. The updater of another version
   * reads both, `version`, `pid` and `process_start`: they keep their meaning.
   */
  readonly health_accepted_at: string | null;
  readonly claim_answered_at: string | null;
  readonly update: UpdateSeen;
};

export type RunningStatus = {
  readonly id: string;
  readonly kind: string;
  readonly since: string;
  readonly step: string | null;
};

type Facts = Pick<AgentStatus, "version" | "name" | "region" | "control_plane">;

export class StatusFile implements AgentWatcher {
  readonly #directory: string;
  readonly #runtime: AgentRuntime;
  readonly #log: Logger;
  #status: AgentStatus;
  #cancelWrite: (() => void) | null = null;
  #isWritable = true;

  constructor(directory: string, facts: Facts, runtime: AgentRuntime, log: Logger) {
    this.#directory = directory;
    this.#runtime = runtime;
    this.#log = log;
    const now = this.#now();
    this.#status = {
      ...facts,
      pid: process.pid,
      process_start: processStart(process.pid),
      started_at: now,
      written_at: now,
      state: "working",
      jobs: [],
      last_claim: null,
      control_plane_trouble: null,
      last_health: null,
      health_accepted_at: null,
      claim_answered_at: null,
      update: { hindrance: null, wanted: null, progress: null },
    };
    // It says at once that it runs.
    this.#change({});
  }

  controlPlaneAnswered(trouble: string | null): void {
    if (trouble === null && this.#status.claim_answered_at === null)
      this.#change({ control_plane_trouble: null, claim_answered_at: this.#now() });
    else if (trouble !== this.#status.control_plane_trouble) this.#change({ control_plane_trouble: trouble });
  }

  jobClaimed(id: string, kind: string): void {
    const at = this.#now();
    const others = this.#status.jobs.filter((job) => job.id !== id);
    this.#change({
      jobs: [...others, { id, kind, since: at, step: null }],
      last_claim: { job: id, kind, at },
    });
  }

  stepBegan(jobId: string, step: string): void {
    this.#change({ jobs: this.#status.jobs.map((job) => (job.id === jobId ? { ...job, step } : job)) });
  }

  jobGone(id: string): void {
    this.#change({ jobs: this.#status.jobs.filter((job) => job.id !== id) });
  }

  healthReported(report: HealthSeen): void {
    const at = this.#now();
    const accepted = this.#status.health_accepted_at ?? (report.undelivered === null ? at : null);
    this.#change({ last_health: { ...report, at }, health_accepted_at: accepted });
  }

  updateChanged(update: UpdateSeen): void {
    this.#change({ update });
  }

  /** Writes that the agent has ended by itself. */
  stopped(): void {
    this.#status = { ...this.#status, state: "stopped" };
    this.#write();
  }

  #change(change: Partial<AgentStatus>): void {
    this.#status = { ...this.#status, ...change };
    this.#cancelWrite ??= this.#runtime.after(SHORTEST_PAUSE_MILLISECONDS, () => this.#write());
  }

  /** A folder that is full or gone ends no job: it is logged, once. */
  #write(): void {
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    this.#status = { ...this.#status, written_at: this.#now() };
    try {
      replaceFile(join(this.#directory, FILE_NAME), `${JSON.stringify(this.#status)}\n`);
      this.#isWritable = true;
    } catch (error) {
      if (this.#isWritable) this.#log.warn({ err: error }, "the agent's status cannot be written");
      this.#isWritable = false;
    }
  }

  #now(): string {
    return new Date(this.#runtime.now()).toISOString();
  }
}

/** What the agent wrote last; null when there is nothing. Throws when the file cannot be read or is not one of ours. */
export function readStatus(directory: string): AgentStatus | null {
  let text: string;
  try {
    text = readFileSync(join(directory, FILE_NAME), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  return JSON.parse(text) as AgentStatus;
}

/** Whether the process that wrote the status still runs. */
export function isRunning({ pid, process_start: start, state }: AgentStatus): boolean {
  return state !== "stopped" && start !== null && processStart(pid) === start;
}

/** Whether this process wrote the status, and not an earlier one with its number. */
export function isProcessOf({ pid, process_start: start }: AgentStatus, asked: number): boolean {
  return pid === asked && start !== null && processStart(pid) === start;
}

/** When a process began, in the kernel's ticks since the machine was started; null when there is none. */
export function processStart(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name is in parentheses and may hold anything.
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/** Whoever reads it meanwhile reads all of the one before. */
function replaceFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
  renameSync(draft, path);
}
