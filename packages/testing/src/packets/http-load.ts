import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

export type LoadOrder = {
  readonly host: string;
  readonly port: number;
  /** An address of theirs that they connect from; by default the one that the route to the host has. */
  readonly from?: string;
  /** How many request at the same time. */
  readonly clients: number;
  /** A connection without an answer for so long is lost. */
  readonly timeoutMs: number;
  /** Of each client between two requests. */
  readonly pauseMs: number;
};

export type LoadCounts = {
  /** Connections with a whole answer of status 200. */
  readonly answered: number;
  /** All others, by what became of them. */
  readonly lost: Readonly<Record<string, number>>;
  /** Answers by their text. */
  readonly bodies: Readonly<Record<string, number>>;
  /** The longest time without an answer, until one came. */
  readonly longestGapMs: number;
};

/** Clients in a namespace that request one page again and again, each time over a new connection. */
export class HttpLoad {
  readonly #process: ChildProcess;
  #counts: LoadCounts = { answered: 0, lost: {}, bodies: {}, longestGapMs: 0 };
  readonly #ended: Promise<void>;

  /** @param enter the prefix of a command that runs it in the clients' namespace; none for this one */
  constructor(enter: readonly string[], order: Partial<LoadOrder> & Pick<LoadOrder, "host" | "port">) {
    const whole: LoadOrder = { clients: 8, timeoutMs: 5_000, pauseMs: 0, ...order };
    const script = join(import.meta.dirname, "http-load-process.ts");
    const [program = "", ...words] = [...enter, process.execPath, script, JSON.stringify(whole)];
    this.#process = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => {
      this.#counts = JSON.parse(line) as LoadCounts;
    });
    this.#ended = new Promise((resolve) => lines.once("close", () => resolve()));
  }

  /** What it has counted until now. */
  get counts(): LoadCounts {
    return this.#counts;
  }

  /** @throws Error when that is not the case in time */
  async until(holds: (counts: LoadCounts) => boolean, limitMs = 60_000): Promise<LoadCounts> {
    const deadline = performance.now() + limitMs;
    while (!holds(this.#counts)) {
      if (this.#process.exitCode !== null) throw new Error("the clients have ended");
      if (performance.now() > deadline) throw new Error(`not in time: ${JSON.stringify(this.#counts)}`);
      await delay(50);
    }
    return this.#counts;
  }

  /** Lets the requests that are under way end, and returns the counts. */
  async end(): Promise<LoadCounts> {
    this.#process.kill("SIGTERM");
    await this.#ended;
    return this.#counts;
  }
}

/** The connections that were lost. */
export const lostOf = ({ lost }: LoadCounts): number =>
  Object.values(lost).reduce((sum, count) => sum + count, 0);
