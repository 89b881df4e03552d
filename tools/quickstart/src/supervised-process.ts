import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { rotateLog } from "./log-file.ts";
import { RestartPause } from "./restart-pause.ts";

export interface ProcessOptions {
  name: string;
  /** Options of Node, the bundle to run, and its arguments. */
  args: string[];
  env: Record<string, string>;
  cwd: string;
  logFile: string;
  /** Called each time it is started. */
  started: (pid: number) => void;
  log: (line: string) => void;
}

const startsBeforeFailing = 3;

/** A process ended again and again before it was ready; the message ends with its last lines. */
export class ProcessFailed extends Error {
  override name = "ProcessFailed";
}

/**
 * A child process that is restarted whenever it ends, as long as it is not stopped: the cause of its end,
 * such as a full disk, may be temporary. The pauses grow with each end since it last ran for a while.
 */
export class SupervisedProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  readonly #stop = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  #child: ChildProcess | undefined;
  #ready = false;
  #over: Promise<void>;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#failed.promise.catch(() => {});
    this.#over = this.#keepRunning();
  }

  /**
   * Waits until `probe` succeeds. To be called while the stack starts, when there is a reader for the error.
   *
   * @throws ProcessFailed when the process keeps ending before that.
   */
  async untilReady(probe: () => Promise<boolean>): Promise<void> {
    await Promise.race([this.#probeUntilTrue(probe), this.#failed.promise]);
    this.#ready = true;
  }

  /** Asks it to end, kills it after `timeoutMs`, and does not start it again. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stop.abort();
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
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
    const pause = new RestartPause();
    for (let starts = 1; !this.#stop.signal.aborted; starts += 1) {
      pause.begin();
      const reason = await this.#runOnce();
      if (this.#stop.signal.aborted) return;
      if (!this.#ready && starts === startsBeforeFailing)
        this.#failed.reject(
          new ProcessFailed(
            `${this.name} does not start (${reason}). ${this.#options.logFile} ends:\n${this.#tail()}`,
          ),
        );
      const pauseMs = pause.afterEnd();
      this.#options.log(`${this.name} ended (${reason}); restarting in ${pauseMs / 1000} s`);
      await delay(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  /** @returns why it ended; it never rejects */
  async #runOnce(): Promise<string> {
    let log: number | undefined;
    try {
      rotateLog(this.#options.logFile);
      log = openSync(this.#options.logFile, "a", 0o600);
      const child = spawn(
        process.execPath,
        ["--import", new URL("./die-with-parent.ts", import.meta.url).href, ...this.#options.args],
        {
          cwd: this.#options.cwd,
          env: this.#options.env,
          // Its own process group: Ctrl-C in the terminal reaches the supervisor alone, which stops all in order.
          detached: true,
          stdio: ["ignore", log, log, "ipc"],
        },
      );
      this.#child = child;
      const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
      this.#note(child.pid);
      if (this.#stop.signal.aborted) child.kill("SIGKILL");
      const [code, signal] = await exited;
      return signal ?? `exit code ${code}`;
    } catch (error) {
      return (error as Error).message;
    } finally {
      if (log !== undefined) closeSync(log);
    }
  }

  /** A run that cannot be noted (the disk is full) is a run all the same. */
  #note(pid: number | undefined): void {
    if (pid === undefined) return;
    try {
      this.#options.started(pid);
    } catch (error) {
      this.#options.log(`${this.name} runs, and this could not be noted: ${(error as Error).message}`);
    }
  }

  #tail(): string {
    try {
      return readFileSync(this.#options.logFile, "utf8").trimEnd().split("\n").slice(-12).join("\n");
    } catch (error) {
      return (error as Error).message;
    }
  }
}
