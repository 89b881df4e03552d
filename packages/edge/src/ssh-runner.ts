import { createHash, timingSafeEqual } from "node:crypto";
import type { Client, ClientChannel } from "ssh2";
import { type Command, type CommandResult, EdgeUnreachable, type Runner } from "./runner.ts";

export type SshEdge = {
  readonly host: string;
  readonly port?: number;
  readonly user: string;
  /** The private key's PEM text. */
  readonly key: string;
  /** `SHA256:` and base64, as `ssh-keygen -lf` prints it: no other host is ever sent anything. */
  readonly hostKey: string;
};

const connectMs = 10_000;
/** OpenSSH's server has ten sessions for a connection (MaxSessions), and refuses the eleventh. */
const sessionsAtOnce = 8;
/** It counts one as taken until it has buried its process, which may be after the command has answered. */
const refusedPauseMs = 50;
/** RFC 4254, 5.1: connect failed, which OpenSSH answers for the eleventh session, and resource shortage. */
const noRoom = new Set<unknown>([2, 4]);

/** Runs commands on an edge over one SSH connection, which is recreated when it is lost. */
export class SshRunner implements Runner {
  readonly #edge: SshEdge;
  readonly #timeoutMs: number;
  #connection: Promise<Client> | null = null;
  #sessions = 0;
  /** Commands that have none yet, in their order. */
  readonly #waiting: (() => void)[] = [];

  constructor(edge: SshEdge, timeoutMs = 30_000) {
    this.#edge = edge;
    this.#timeoutMs = timeoutMs;
  }

  async run(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    await this.#turn(command, signal);
    try {
      return await this.#carryOut(command, signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#sessions -= 1;
      else next();
    }
  }

  /** Until there is a session for the command. @throws EdgeUnreachable when it was called off before */
  async #turn({ words }: Command, signal?: AbortSignal): Promise<void> {
    if (this.#sessions < sessionsAtOnce) {
      this.#sessions += 1;
      return;
    }
    return new Promise((resolve, reject) => {
      const take = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const calledOff = () => reject(new EdgeUnreachable(`${words[0]} on ${this.#edge.host} was called off`));
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        calledOff();
      };
      if (signal?.aborted === true) return calledOff();
      this.#waiting.push(take);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  async #carryOut(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    this.#connection ??= this.#connect();
    const connection = this.#connection;
    const client = await connection;
    const line = lineOf(command.words, this.#edge.user);
    return new Promise((resolve, reject) => {
      let open: ClientChannel | null = null;
      let isSettled = false;
      let again: NodeJS.Timeout | undefined;
      const settle = () => {
        isSettled = true;
        clearTimeout(timer);
        clearTimeout(again);
        signal?.removeEventListener("abort", aborted);
        client.removeListener("close", lost);
      };
      const give = (why: string, cause?: unknown) => {
        settle();
        // Whatever the command is still doing there, its connection is not for the next one.
        this.#forget(connection);
        client.destroy();
        reject(new EdgeUnreachable(`${command.words[0]} on ${this.#edge.host} ${why}`, { cause }));
      };
      // Others have commands on the connection, and this one did not end for lack of an answer.
      const aborted = () => {
        settle();
        open?.close();
        reject(new EdgeUnreachable(`${command.words[0]} on ${this.#edge.host} was called off`));
      };
      const lost = () => give("lost its connection");
      const timer = setTimeout(() => give(`did not end in ${this.#timeoutMs / 1000} s`), this.#timeoutMs);
      if (signal?.aborted === true) return aborted();
      signal?.addEventListener("abort", aborted, { once: true });
      client.once("close", lost);
      const started = (error: Error | undefined, channel: ClientChannel) => {
        if (isSettled) return channel?.close();
        // Nothing was started, and the connection is as good as before.
        if (error !== undefined && "reason" in error && noRoom.has(error.reason)) {
          again = setTimeout(start, refusedPauseMs);
          return;
        }
        if (error !== undefined) return give("could not be started", error);
        open = channel;
        const said = { code: null as number | null, stdout: "", stderr: "" };
        channel.setEncoding("utf8").on("data", (text: string) => {
          said.stdout += text;
        });
        channel.stderr.setEncoding("utf8").on("data", (text: string) => {
          said.stderr += text;
        });
        channel.on("exit", (status: number | null) => {
          said.code = status;
        });
        channel.on("close", () => {
          if (isSettled) return;
          const { code, stdout, stderr } = said;
          if (code === null) return give("ended without an exit code");
          settle();
          resolve({ code, stdout, stderr });
        });
        channel.end(command.input ?? "");
      };
      const start = () => {
        try {
          client.exec(line, started);
        } catch (error) {
          // The connection is lost and the caller has not been answered yet.
          give("could not be started", error);
        }
      };
      start();
    });
  }

  /** Ends the connection; the next command makes another. */
  end(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.then((client) => client.end()).catch(() => {});
  }

  /** There may be another one by now. */
  #forget(connection: Promise<Client>): void {
    if (this.#connection === connection) this.#connection = null;
  }

  #connect(): Promise<Client> {
    const connection = this.#connected(() => this.#forget(connection));
    connection.catch(() => this.#forget(connection));
    return connection;
  }

  async #connected(whenClosed: () => void): Promise<Client> {
    const { host, port = 22, user, key, hostKey } = this.#edge;
    // Loaded with the first command: a process without an edge does without its memory.
    const { default: ssh2 } = await import("ssh2");
    const client = new ssh2.Client();
    return new Promise<Client>((resolve, reject) => {
      let refusal: string | null = null;
      client.once("ready", () => {
        // Each command is sent after the one before has ended: waiting for more to send only costs time.
        client.setNoDelay(true);
        resolve(client);
      });
      // Also when it is not in use, for example when the edge is restarted.
      client.once("close", whenClosed);
      client.on("error", (error) =>
        reject(new EdgeUnreachable(`${user}@${host}: ${refusal ?? error.message}`, { cause: error })),
      );
      client.connect({
        host,
        port,
        username: user,
        privateKey: key,
        readyTimeout: connectMs,
        keepaliveInterval: 10_000,
        keepaliveCountMax: 3,
        hostVerifier: (offered: Buffer) => {
          const shown = fingerprintOf(offered);
          if (isSame(shown, hostKey)) return true;
          refusal = `the host's key is ${shown}, and edge.host_key says ${hostKey}`;
          return false;
        },
      });
    });
  }
}

function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** For the shell that SSH puts in between: every argument in quotes. */
function lineOf(words: readonly string[], user: string): string {
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return [...(user === "root" ? [] : ["sudo", "-n"]), "env", "LC_ALL=C", ...quoted].join(" ");
}
