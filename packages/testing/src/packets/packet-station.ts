import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { firstFlow, lastFlow } from "./frames.ts";
import type { Place, PlaceSeen, Shot, StationAnswer, StationOrder, VolleyOutcome } from "./volley.ts";

/** In one volley. */
export const maxShots = 20_000;

/**
 * Sends thousands of packets between namespaces and reports for each where it arrived, with one process for
 * all of them.
 */
export class PacketStation {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: StationAnswer | Error) => void>();
  #orders = 0;
  #nextFlow = firstFlow;

  /** @param enter the prefix of a command that runs it where the namespaces are */
  constructor(enter: readonly string[]) {
    const script = join(import.meta.dirname, "station-process.ts");
    const [program = "", ...words] = [
      ...enter,
      process.execPath,
      "--experimental-ffi",
      "--disable-warning=ExperimentalWarning",
      script,
    ];
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "pipe"] });
    this.#process = child;
    let complaint = "";
    child.stderr.on("data", (bytes) => {
      complaint = `${complaint}${bytes}`.slice(-2000);
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const answer = JSON.parse(line) as StationAnswer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    child.stdin.on("error", () => {});
    child.once("exit", (code, signal) => {
      for (const settle of this.#waiting.values())
        settle(new Error(`the packet station ended (${signal ?? code}): ${complaint}`));
    });
  }

  /**
   * Listens at all their devices, and answers at these ports in their place. The devices at the time of the
   * call count.
   */
  async attend(places: readonly Place[], ports: readonly number[]): Promise<readonly PlaceSeen[]> {
    const answer = await this.#order({ do: "attend", places, ports });
    if (!("seen" in answer)) throw new Error(JSON.stringify(answer));
    return answer.seen;
  }

  /**
   * Numbers for so many packets, none of which was used before: a late packet of an earlier volley is not
   * taken for one of this. Starts again when there are none left.
   */
  flows(count: number): readonly number[] {
    if (count > maxShots) throw new RangeError(`${count} packets are more than ${maxShots}`);
    if (this.#nextFlow + count > lastFlow) this.#nextFlow = firstFlow;
    const first = this.#nextFlow;
    this.#nextFlow += count;
    return Array.from({ length: count }, (_, index) => first + index);
  }

  async shoot(
    shots: readonly Shot[],
    { limitMs = 8_000, graceMs = 400 }: { readonly limitMs?: number; readonly graceMs?: number } = {},
  ): Promise<VolleyOutcome> {
    const answer = await this.#order({ do: "shoot", shots, limitMs, graceMs });
    if (!("outcome" in answer)) throw new Error(JSON.stringify(answer));
    return answer.outcome;
  }

  async end(): Promise<void> {
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  #order(order: DistributiveOmit<StationOrder, "id">): Promise<StationAnswer> {
    this.#orders += 1;
    const id = this.#orders;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
      this.#process.stdin?.write(`${JSON.stringify({ id, ...order })}\n`);
    });
  }
}

type DistributiveOmit<Type, Key extends PropertyKey> = Type extends unknown ? Omit<Type, Key> : never;
