import { spawn } from "node:child_process";
import type { Runtime } from "../runtime.ts";
import type { NetworkCommand } from "./network-commands.ts";

/** The maximum time of a command; a forgotten one ends by itself. */
const MOST_SECONDS = 900;
const MOST_BYTES = 1_000_000;
/** The time between an interrupt and a kill. */
const GRACE_MS = 2_000;

const nobody = "65534";

/** Where a command's output goes, and its input. */
export type Terminal = {
  print(text: string): void;
  /** Resolves when more may be printed. */
  ready(): Promise<void>;
  readonly runtime: Runtime;
  /** Interrupts as Ctrl+C does, so that it may print its last output. */
  readonly stop: AbortSignal;
};

/** A command that runs in a machine's network. */
export type NetworkRun = {
  readonly exitCode: Promise<number>;
  /** A line that was typed. */
  type(text: string): void;
  endInput(): void;
};

/**
 * Runs a command in a machine's network, without any right that it does not need and with none of the lab's
 * environment. It ends with the lab, with its terminal, after its time, or after too much output.
 *
 * @param enter the prefix of a command that runs it in there
 */
export function runOnNetwork(
  enter: readonly string[],
  command: NetworkCommand,
  terminal: Terminal,
): NetworkRun {
  const { print, ready, runtime, stop } = terminal;
  const rights = command.dropsRights
    ? ["setpriv", "--no-new-privs", "--"]
    : [
        "setpriv",
        `--reuid=${nobody}`,
        `--regid=${nobody}`,
        "--clear-groups",
        "--no-new-privs",
        "--pdeathsig=KILL",
        "--",
      ];
  const [program = "", ...words] = [...enter, ...rights, ...command.words];
  const child = spawn(program, words, {
    stdio: ["pipe", "pipe", "pipe"],
    cwd: "/",
    env: { PATH: process.env.PATH, LC_ALL: "C" },
  });
  child.stdin.on("error", () => {});
  const timers: (() => void)[] = [];
  const after = (milliseconds: number, then: () => void) => timers.push(runtime.after(milliseconds, then));
  const end = (complaint: string) => {
    child.kill("SIGKILL");
    print(`${command.name}: ${complaint}\n`);
  };
  const interrupt = () => {
    child.kill("SIGINT");
    after(GRACE_MS, () => child.kill("SIGKILL"));
  };
  if (stop.aborted) interrupt();
  else stop.addEventListener("abort", interrupt, { once: true });
  after(MOST_SECONDS * 1000, () => end(`ended after ${MOST_SECONDS / 60} minutes`));

  let saidBytes = 0;
  const pass = async (stream: NodeJS.ReadableStream): Promise<void> => {
    stream.setEncoding("utf8");
    for await (const chunk of stream) {
      const text = String(chunk);
      saidBytes += Buffer.byteLength(text);
      if (saidBytes > MOST_BYTES) return end("ended: it said too much");
      print(command.speaksOfCables ? withoutCables(text) : text);
      await ready();
    }
  };
  const closed = new Promise<number>((resolve) => {
    child.once("error", (error) => {
      print(`${command.name}: ${error.message}\n`);
      resolve(127);
    });
    child.once("close", (code) => resolve(code ?? 130));
  });
  const passed = [child.stdout, child.stderr].map((stream) => pass(stream).catch(() => {}));
  const run = async (): Promise<number> => {
    const exitCode = await closed;
    await Promise.all(passed);
    for (const cancel of timers) cancel();
    stop.removeEventListener("abort", interrupt);
    return exitCode;
  };
  return {
    exitCode: run(),
    type: (text) => child.stdin.write(text),
    endInput: () => child.stdin.end(),
  };
}

/** The cable's other end is in another network, where the guest sees nothing of it. */
const withoutCables = (text: string): string =>
  text.replaceAll(/@if\d+/g, "").replaceAll(/ link-netnsid \d+/g, "");
