import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { type Command, type CommandResult, EdgeUnreachable, type Runner } from "@kule/edge/runner";
import type { EdgeMachine } from "@kule/lab/wires/edge-machine";

export type EdgeOrder =
  | { readonly id: number; readonly command: Command }
  | { readonly id: number; readonly abort: true };
export type EdgeAnswer =
  | { readonly machine: Omit<EdgeMachine, "stop"> }
  | { readonly id: number; readonly result: CommandResult }
  | { readonly id: number; readonly unreachable: string };

type Waiting = { resolve(result: CommandResult): void; reject(error: Error): void };

/**
 * The edge's SSH server, and a runner of commands, in a small process: the kernel copies the memory map of whoever starts
 * a command, which costs a row's process ten milliseconds and blocks it.
 */
export class EdgeProcess implements Runner {
  /** How agents in processes of their own reach the edge. */
  readonly machine: Omit<EdgeMachine, "stop">;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #orders = 0;

  private constructor(process: ChildProcess, machine: Omit<EdgeMachine, "stop">) {
    this.#process = process;
    this.machine = machine;
    process.on("message", (answer: EdgeAnswer) => {
      if ("machine" in answer) return;
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ("result" in answer) waiting?.resolve(answer.result);
      else waiting?.reject(new EdgeUnreachable(answer.unreachable));
    });
    process.once("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(hasEnded());
      this.#waiting.clear();
    });
  }

  /**
   * @param atBridges the prefix of a command that runs it where the bridges are
   * @param directory of the machine's keys
   */
  static async start(atBridges: readonly string[], directory: string): Promise<EdgeProcess> {
    const child = fork(join(import.meta.dirname, "edge-process-main.ts"), [
      JSON.stringify({ atBridges, directory }),
    ]);
    const machine = await new Promise<Omit<EdgeMachine, "stop">>((resolve, reject) => {
      child.once("message", (answer: EdgeAnswer) => {
        if ("machine" in answer) resolve(answer.machine);
      });
      child.once("exit", () => reject(hasEnded()));
    });
    return new EdgeProcess(child, machine);
  }

  run(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    this.#orders += 1;
    const id = this.#orders;
    const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
    this.#waiting.set(id, { resolve, reject });
    this.#order({ id, command });
    const abort = () => this.#order({ id, abort: true });
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.disconnect();
    await ended;
  }

  #order(order: EdgeOrder): void {
    if (this.#process.connected) this.#process.send(order);
    else this.#waiting.get(order.id)?.reject(hasEnded());
  }
}

const hasEnded = () => new EdgeUnreachable("the process of the edge has ended");
