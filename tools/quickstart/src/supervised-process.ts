import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface ProcessOptions {
  name: string;
  /** Bundle to run and its arguments. */
  args: string[];
  env: Record<string, string>;
  cwd: string;
  logFile: string;
  /** Told each time it is started. */
  started: (pid: number) => void;
  log: (line: string) => void;
}

const firstPauseMs = 200;
const longestPauseMs = 10_000;
/** After so long a run a later end counts as the first one. */
const steadyAfterMs = 30_000;
const startsBeforeGivingUp = 3;

/** A process ended again and again before it was ready; the message ends with its last lines. */
export class ProcessFailed extends Error {
  override name = "ProcessFailed";
}

/** A child process that is started again, after growing pauses, whenever it ends. */
export class SupervisedProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  readonly #stop = new AbortController();
  readonly #givenUp = Promise.withResolvers<never>();
  #child: ChildProcess | undefined;
  #ready = false;
  #over: Promise<void>;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#givenUp.promise.catch(() => {});
    this.#over = this.#keepRunning();
  }

  /**
   * Waits until `probe` says yes.
   *
   * @throws ProcessFailed when the process keeps ending before that.
   */
  async untilReady(probe: () => Promise<boolean>): Promise<void> {
    await Promise.race([this.#probeUntilTrue(probe), this.#givenUp.promise]);
    this.#ready = true;
  }

  /** Asks it to end, makes it end after `patienceMs`, and does not start it again. */
  async stop(patienceMs: number): Promise<void> {
    this.#stop.abort();
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), patienceMs);
      await this.#over;
      clearTimeout(late);
    }
    await this.#over;
  }

  /** Ends it at once. */
  kill(): void {
    this.#stop.abort();
    this.#child?.kill("SIGKILL");
  }

  async #probeUntilTrue(probe: () => Promise<boolean>): Promise<void> {
    while (!this.#stop.signal.aborted && !(await probe())) await delay(50);
  }

  async #keepRunning(): Promise<void> {
    let pauseMs = firstPauseMs;
    for (let starts = 1; !this.#stop.signal.aborted; starts += 1) {
      const begin = performance.now();
      const reason = await this.#runOnce();
      if (this.#stop.signal.aborted) return;
      if (!this.#ready && starts >= startsBeforeGivingUp) {
        this.#givenUp.reject(
          new ProcessFailed(
            `${this.name} does not start (${reason}). ${this.#options.logFile} ends:\n${this.#tail()}`,
          ),
        );
        return;
      }
      if (performance.now() - begin > steadyAfterMs) pauseMs = firstPauseMs;
      if (this.#ready) this.#options.log(`${this.name} ended (${reason}); starting it again`);
      await delay(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  async #runOnce(): Promise<string> {
    const log = openLog(this.#options.logFile);
    const child = spawn(
      process.execPath,
      [
        "--enable-source-maps",
        "--import",
        new URL("./die-with-parent.ts", import.meta.url).href,
        ...this.#options.args,
      ],
      {
        cwd: this.#options.cwd,
        env: this.#options.env,
        // Its own process group: Ctrl-C in the terminal reaches the supervisor alone, which stops all in order.
        detached: true,
        stdio: ["ignore", log, log, "ipc"],
      },
    );
    closeSync(log);
    this.#child = child;
    if (child.pid !== undefined) this.#options.started(child.pid);
    if (this.#stop.signal.aborted) child.kill("SIGKILL");
    try {
      const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
      return signal ?? `exit code ${code}`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #tail(): string {
    return readFileSync(this.#options.logFile, "utf8").trimEnd().split("\n").slice(-12).join("\n");
  }
}

function openLog(path: string): number {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > 10_000_000) renameSync(path, `${path}.1`);
  return openSync(path, "a", 0o600);
}
