import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Flows of one kind from one place to one. */
export type FlowKind = {
  /** Its name in reports of a loss. */
  readonly name: string;
  readonly protocol: "tcp" | "udp";
  readonly to: string;
  readonly port: number;
  readonly count: number;
};

export type FlowOrder =
  | ({ readonly do: "open"; readonly waitMs: number } & FlowKind)
  | { readonly do: "speak"; readonly everyMs: number }
  | { readonly do: "be-silent" };

/** How often something was sent, and what was not answered or ended, with counts. */
export type FlowsSeen = { spoken: number; readonly lost: Record<string, number> };

export type FlowAnswer = { readonly seen: FlowsSeen | null } | { readonly error: string };

const ended: FlowAnswer = { error: "the flows' process ended" };

/** Many flows out of one namespace to machines that answer, established once and kept speaking. */
export class Flows {
  readonly #process: ChildProcess;
  #waiting: ((answer: FlowAnswer) => void) | null = null;
  #count = 0;
  #hasEnded = false;

  /** @param enter the prefix of a command that runs it inside */
  constructor(enter: readonly string[]) {
    const script = join(import.meta.dirname, "flow-process.ts");
    const [program = "", ...words] = [...enter, process.execPath, script];
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
    this.#process = child;
    child.stdin.on("error", () => {});
    child.once("exit", () => {
      this.#hasEnded = true;
      this.#waiting?.(ended);
    });
    createInterface({ input: child.stdout }).on("line", (line) =>
      this.#waiting?.(JSON.parse(line) as FlowAnswer),
    );
  }

  get count(): number {
    return this.#count;
  }

  async open(kind: FlowKind): Promise<void> {
    await this.#order({ do: "open", waitMs: 8_000, ...kind });
    this.#count += kind.count;
  }

  /** From here on each sends something, and again so long after each answer. */
  async speak(everyMs: number): Promise<void> {
    await this.#order({ do: "speak", everyMs });
  }

  /** When each has been answered for the last time. */
  async beSilent(): Promise<FlowsSeen> {
    const seen = await this.#order({ do: "be-silent" });
    if (seen === null) throw new Error("the flows say nothing about themselves");
    return seen;
  }

  async end(): Promise<void> {
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async #order(order: FlowOrder): Promise<FlowsSeen | null> {
    const answer = await new Promise<FlowAnswer>((resolve) => {
      if (this.#hasEnded) return resolve(ended);
      this.#waiting = resolve;
      this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
    });
    if ("error" in answer) throw new Error(answer.error);
    return answer.seen;
  }
}
