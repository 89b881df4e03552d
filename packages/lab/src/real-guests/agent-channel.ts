import { close, constants, fstat, open } from "node:fs";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import type { Runtime } from "../runtime.ts";

/** The agent refused a command, with its own description. */
export class AgentRefused extends Error {
  override name = "AgentRefused";
  readonly class: string;
  constructor(kind: string, description: string) {
    super(description);
    this.class = kind;
  }
}
/** No agent answered in time. */
export class AgentSilent extends Error {
  override name = "AgentSilent";
}

/** `O_PATH` of Linux: a descriptor that only names a file. */
const O_PATH = 0o10000000;
/** Between a command and its answer. */
const ANSWER_MS = 10_000;
/** The agent's longest answer is a file of 48 MB; Proxmox VE reads less. */
const MOST_BYTES = 32 * 1024 * 1024;

type Answer = {
  readonly return?: unknown;
  readonly error?: { readonly class?: string; readonly desc?: string };
};

/**
 * The channel of a guest agent. A connection serves one command at a time, as virtio-serial does: commands
 * wait for each other.
 */
export class AgentChannel {
  /** The socket as seen from this process; the guest may put anything in its place. */
  readonly #path: string;
  readonly #runtime: Pick<Runtime, "after">;
  #turn: Promise<unknown> = Promise.resolve();
  #syncs = 0;

  constructor(path: string, runtime: Pick<Runtime, "after">) {
    this.#path = path;
    this.#runtime = runtime;
  }

  /**
   * @throws AgentRefused for an error of the agent
   * @throws AgentSilent when there is no agent, or no answer
   */
  async ask(command: string, args: object = {}, timeoutMs = ANSWER_MS): Promise<unknown> {
    const mine = this.#turn.catch(() => {}).then(() => this.#exchange(command, args, timeoutMs));
    this.#turn = mine;
    return await mine;
  }

  async #exchange(command: string, args: object, timeoutMs: number): Promise<unknown> {
    const socket = await openSocket(this.#path);
    try {
      const lines = readLines(socket, this.#runtime, timeoutMs);
      this.#syncs += 1;
      const sync = this.#syncs;
      // What an interrupted command has left in the agent's parser ends with the byte 0xff.
      socket.write(Buffer.from([0xff]));
      socket.write(`${JSON.stringify({ execute: "guest-sync-delimited", arguments: { id: sync } })}\n`);
      await lines.find((answer) => answer.return === sync);
      socket.write(`${JSON.stringify({ execute: command, arguments: args })}\n`);
      const answer = await lines.find((each) => "return" in each || "error" in each);
      if (answer.error !== undefined)
        throw new AgentRefused(answer.error.class ?? "GenericError", answer.error.desc ?? "unknown error");
      return answer.return;
    } finally {
      socket.destroy();
    }
  }
}

/**
 * Connects to the socket itself and to nothing that a guest has put in its place: a symbolic link would be
 * followed on the machine.
 */
async function openSocket(path: string): Promise<Socket> {
  let descriptor: number;
  try {
    descriptor = await promisify(open)(path, O_PATH | constants.O_NOFOLLOW);
  } catch {
    throw new AgentSilent("no guest agent has opened its channel");
  }
  try {
    if (!(await promisify(fstat)(descriptor)).isSocket()) throw new AgentSilent("the channel is no socket");
    const socket = connect(`/proc/self/fd/${descriptor}`);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", () => reject(new AgentSilent("the guest agent accepts no connection")));
    });
    return socket;
  } finally {
    close(descriptor, () => {});
  }
}

type Lines = { find(isWanted: (answer: Answer) => boolean): Promise<Answer> };

function readLines(socket: Socket, runtime: Pick<Runtime, "after">, timeoutMs: number): Lines {
  let waiting: { isWanted: (answer: Answer) => boolean; resolve: (answer: Answer) => void } | undefined;
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);
  const cancel = runtime.after(timeoutMs, () => fail(new AgentSilent("got timeout")));
  socket.on("error", () => fail(new AgentSilent("the channel was closed")));
  socket.on("close", () => {
    cancel();
    fail(new AgentSilent("the channel was closed"));
  });
  let rest: Buffer = Buffer.alloc(0);
  let bytes = 0;
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    if (bytes > MOST_BYTES) return fail(new AgentSilent("the answer is too long"));
    if (!part.includes(0x0a)) return;
    const all = Buffer.concat([rest, ...parts.splice(0)]);
    const last = all.lastIndexOf(0x0a);
    rest = all.subarray(last + 1);
    bytes = rest.length;
    for (const line of all.toString("utf8", 0, last).split("\n")) {
      const answer = parsed(line);
      if (answer === undefined || waiting === undefined || !waiting.isWanted(answer)) continue;
      const { resolve } = waiting;
      waiting = undefined;
      resolve(answer);
    }
  });
  return {
    find: (isWanted) =>
      Promise.race([
        failed,
        new Promise<Answer>((resolve) => {
          waiting = { isWanted, resolve };
        }),
      ]),
  };
}

/** The delimiter of a synchronisation comes as the byte 0xff, which is no UTF-8. */
function parsed(line: string): Answer | undefined {
  try {
    const answer: unknown = JSON.parse(line.slice(line.indexOf("{")));
    return typeof answer === "object" && answer !== null ? (answer as Answer) : undefined;
  } catch {
    return undefined;
  }
}
