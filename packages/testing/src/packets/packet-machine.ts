import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { MachineOrder, MachineOrderResult, Outcome, Protocol } from "./machine-orders.ts";

/** The port that every machine answers at, by TCP and UDP. */
export const answeringPort = 80;

/** A machine of a test's network that sends and answers packets: a process in a given namespace. */
export class PacketMachine {
  readonly #enter: readonly string[];
  readonly #waiting = new Map<number, (outcome: MachineOrderResult["outcome"]) => void>();
  #process: ChildProcess | null = null;
  #errands = 0;

  /** @param enter the prefix of a command that runs it inside, e.g. `ip netns exec NAME` */
  constructor(enter: readonly string[]) {
    this.#enter = enter;
  }

  async send(
    protocol: Protocol,
    to: string,
    more: {
      readonly port?: number;
      readonly from?: string;
      readonly bytes?: number;
      readonly waitMs?: number;
    } = {},
  ): Promise<Outcome> {
    const port = protocol === "icmp" ? {} : { port: more.port ?? answeringPort };
    return this.#ask({ do: "send", protocol, to, waitMs: 3_000, ...more, ...port });
  }

  /** The sources of the datagrams that have been received since the last query. */
  async arrivals(): Promise<readonly string[]> {
    const outcome = await this.#ask({ do: "arrivals" });
    return typeof outcome === "object" && "arrivals" in outcome ? outcome.arrivals : [];
  }

  /** A TCP connection that stays: whether data sent over it is still answered. */
  async connect(to: string, port = answeringPort): Promise<{ speak(waitMs?: number): Promise<Outcome> }> {
    const connection = this.#errands + 1;
    const outcome = await this.#ask({ do: "connect", to, port });
    if (typeof outcome === "string") throw new Error(`no connection to ${to}`);
    return { speak: (waitMs = 1_000) => this.#ask({ do: "speak", connection, waitMs }) };
  }

  /** It answers at {@link answeringPort} from here on. */
  async start(): Promise<void> {
    const script = join(import.meta.dirname, "packet-agent.ts");
    const [program = "", ...words] = [...this.#enter, process.execPath, script];
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
    this.#process = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { id, outcome } = JSON.parse(line) as MachineOrderResult;
      this.#waiting.get(id)?.(outcome);
      this.#waiting.delete(id);
    });
    await this.#ask({ do: "listen", protocol: "tcp", port: answeringPort });
    await this.#ask({ do: "listen", protocol: "udp", port: answeringPort });
  }

  async end(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  #ask(errand: DistributiveOmit<MachineOrder, "id">): Promise<Outcome> {
    this.#errands += 1;
    const id = this.#errands;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, (outcome) => {
        if (typeof outcome === "object" && "failed" in outcome)
          reject(new Error(`a machine of the test could not ${errand.do}: ${outcome.failed}`));
        else resolve(outcome);
      });
      this.#process?.stdin?.write(`${JSON.stringify({ id, ...errand })}\n`);
    });
  }
}

type DistributiveOmit<Type, Key extends PropertyKey> = Type extends unknown ? Omit<Type, Key> : never;
