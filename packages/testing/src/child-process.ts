import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

const dieWithParent = import.meta.resolve("@kule/quickstart/die-with-parent");

/** One of Kule's processes under test, with everything it printed. */
export type TestProcess = {
  readonly name: string;
  readonly pid: number;
  /** Its output so far, both streams. */
  output(): string;
  /** Settles when it ends. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  running(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Ends it, with SIGTERM by default, and waits for that. A stopped process is continued first. */
  end(signal?: NodeJS.Signals): Promise<void>;
};

/** KULE_SOURCE_MAPS=1: stacks name lines of the source. Without it a start takes half the time. */
const sourceMaps = () => (process.env.KULE_SOURCE_MAPS === "1" ? ["--enable-source-maps"] : []);

/** A bundle with a defence removed is started a few times, and its cache would stay for ever. */
function compileCache(args: readonly string[]): Readonly<Record<string, string>> {
  const folder = process.env.NODE_COMPILE_CACHE;
  return folder === undefined || args.some((arg) => arg.includes("/patched-"))
    ? {}
    : { NODE_COMPILE_CACHE: folder };
}

/**
 * Starts a Node program with exactly this environment (PATH and Node's compile cache too), as a process of its own. It ends when the test run
 * is killed too, unless it is stopped at that moment (SIGSTOP).
 */
export function startProcess(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): TestProcess {
  const child: ChildProcess = spawn(process.execPath, [...sourceMaps(), "--import", dieWithParent, ...args], {
    env: { PATH: process.env.PATH, ...compileCache(args), ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  child.channel?.unref();
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    output += chunk;
  });
  const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  const running = () => child.exitCode === null && child.signalCode === null;
  return {
    name,
    pid: child.pid ?? -1,
    output: () => output,
    ended,
    running,
    signal: (signal) => void child.kill(signal),
    async end(signal = "SIGTERM") {
      if (!running()) return;
      child.kill("SIGCONT");
      child.kill(signal);
      await Promise.race([ended, delay(15_000, undefined, { ref: false })]);
      if (running()) {
        child.kill("SIGKILL");
        await ended;
      }
    },
  };
}

/**
 * Polls until the answer is not undefined.
 *
 * @throws Error with what the process printed, when it ended or took longer than `timeoutMs`.
 */
export async function untilReady<T>(
  process: TestProcess,
  probe: () => Promise<T | undefined>,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await probe().catch(() => undefined);
    if (found !== undefined) return found;
    if (!process.running()) throw new Error(`${process.name} ended:\n${process.output()}`);
    if (performance.now() > deadline) throw new Error(`${process.name} is not ready:\n${process.output()}`);
    await delay(50);
  }
}
