import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { FaultRules, type Occurrence } from "./fault-rules.ts";
import { StatementReader, WireReader } from "./postgres-wire.ts";

/** A fault of a statement, or of a COMMIT. */
export type PostgresFault = Occurrence & {
  readonly at: "commit" | "statement";
  /** At a commit: one of the transaction's statements must match. At a statement: itself. Any when absent. */
  readonly matches?: RegExp;
} & PostgresFaultKind;

export type PostgresFaultKind =
  /** Both connections end before it reaches Postgres, which rolls the transaction back. */
  | { readonly action: "cut-before" }
  /**
   * Postgres has done it and answered; the client's connection ends without the answer. An ambiguous commit.
   */
  | { readonly action: "cut-reply" }
  /** The same as cut-before with a TCP reset on the client's side. */
  | { readonly action: "reset" }
  /** Forwarded this much later. */
  | { readonly action: "delay"; readonly milliseconds: number }
  /** The reply is sent a byte at a time, with this pause before each. */
  | { readonly action: "drip"; readonly milliseconds: number };

export type PostgresProxyOptions = {
  /** Connection string of the Postgres behind it. */
  readonly url: string;
  readonly random: () => number;
};

/**
 * A proxy on 127.0.0.1 in front of a Postgres without TLS. It parses the protocol, so that a fault can name
 * the moment: this statement, or the COMMIT of a transaction with such a statement.
 */
export class PostgresFaultProxy {
  readonly #url: URL;
  readonly #server: Server;
  readonly #rules: FaultRules<PostgresFault>;
  readonly #links = new Set<Link>();
  readonly #counts = new Map<string, number>();

  private constructor({ url, random }: PostgresProxyOptions) {
    this.#url = new URL(url);
    this.#rules = new FaultRules(random);
    this.#server = createServer((client) => {
      const server = connect(Number(this.#url.port || 5432), this.#url.hostname);
      const link: Link = new Link(client, server, {
        faultAt: (at, texts) => this.#faultAt(at, texts),
        count: (what) => this.#count(what),
        ended: () => this.#links.delete(link),
      });
      this.#links.add(link);
    });
  }

  static async open(options: PostgresProxyOptions): Promise<PostgresFaultProxy> {
    const proxy = new PostgresFaultProxy(options);
    await new Promise<void>((listening, failed) => {
      proxy.#server.once("error", failed);
      proxy.#server.listen(0, "127.0.0.1", listening);
    });
    return proxy;
  }

  /** The connection string that leads through the proxy. */
  get url(): string {
    const url = new URL(this.#url);
    url.hostname = "127.0.0.1";
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** @returns a function that removes the fault again and returns how often it hit */
  add(fault: PostgresFault): () => number {
    return this.#rules.add(fault);
  }

  clear(): void {
    this.#rules.clear();
  }

  /** "commits" that passed, and each action by its name as often as it was completed. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    for (const link of this.#links) link.end();
    await closed;
  }

  #faultAt(at: PostgresFault["at"], texts: readonly string[]): PostgresFault | null {
    return this.#rules.hit(
      (fault) =>
        fault.at === at && (fault.matches === undefined || texts.some((text) => fault.matches?.test(text))),
    );
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}

type Owner = {
  faultAt(at: PostgresFault["at"], texts: readonly string[]): PostgresFault | null;
  count(what: string): void;
  ended(): void;
};

/** One client's connection and its connection to Postgres. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #owner: Owner;
  readonly #fromClient = new WireReader("client");
  readonly #fromServer = new WireReader("server");
  readonly #statements = new StatementReader();
  /** The statements of the open transaction; null outside of one. */
  #transaction: string[] | null = null;
  /** The fault for the next reply. */
  #onReply: Extract<PostgresFault, { action: "cut-reply" | "drip" }> | null = null;
  #toServer: Promise<void> = Promise.resolve();
  #toClient: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(client: Socket, server: Socket, owner: Owner) {
    this.#client = client;
    this.#server = server;
    this.#owner = owner;
    client.setNoDelay(true);
    server.setNoDelay(true);
    for (const socket of [client, server]) {
      socket.on("error", () => this.end());
      socket.on("close", () => this.end());
    }
    client.on("data", (chunk: Buffer) => this.#readClient(chunk));
    server.on("data", (chunk: Buffer) => this.#readServer(chunk));
    client.on("end", () => this.#server.end());
    server.on("end", () => void this.#toClient.then(() => this.#client.end()));
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.destroy();
    this.#server.destroy();
    this.#owner.ended();
  }

  #readClient(chunk: Buffer): void {
    for (const message of this.#fromClient.read(chunk)) {
      const text = this.#statements.statementOf(message);
      const fault = text === null ? null : this.#judge(text);
      this.#toServer = this.#toServer.then(() => this.#forward(message.bytes, fault)).catch(() => this.end());
    }
  }

  #judge(text: string): PostgresFault | null {
    const word = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? "";
    if (word === "commit" || word === "end") {
      this.#owner.count("commits");
      const done = this.#transaction ?? [];
      this.#transaction = null;
      return this.#owner.faultAt("commit", done);
    }
    if (word === "begin" || word === "start") this.#transaction = [];
    else if (word === "rollback" && !/\bto\b/i.test(text)) this.#transaction = null;
    else this.#transaction?.push(text);
    return this.#owner.faultAt("statement", [text]);
  }

  async #forward(bytes: Buffer, fault: PostgresFault | null): Promise<void> {
    if (this.#isOver) return;
    switch (fault?.action) {
      case "cut-before":
        this.#owner.count("cut-before");
        return this.end();
      case "reset":
        this.#owner.count("reset");
        this.#client.resetAndDestroy();
        return this.end();
      case "delay":
        await delay(fault.milliseconds);
        this.#owner.count("delay");
        break;
      case "cut-reply":
      case "drip":
        this.#onReply = fault;
        break;
      default:
    }
    this.#server.write(bytes);
  }

  #readServer(chunk: Buffer): void {
    const fault = this.#onReply;
    const messages = this.#fromServer.read(chunk);
    // With "ready for query" Postgres has completed everything, the flush of a commit included.
    const isDone = messages.some(({ type }) => type === "Z");
    if (isDone) this.#onReply = null;
    if (fault?.action === "cut-reply") {
      if (!isDone) return;
      this.#owner.count("cut-reply");
      this.end();
      return;
    }
    if (fault === null) {
      this.#toClient = this.#toClient.then(() => void this.#client.write(chunk));
      return;
    }
    this.#toClient = this.#toClient.then(() => this.#drip(chunk, fault.milliseconds, isDone));
  }

  async #drip(chunk: Buffer, milliseconds: number, isDone: boolean): Promise<void> {
    for (const byte of chunk) {
      await delay(milliseconds);
      if (this.#isOver) return;
      this.#client.write(Uint8Array.of(byte));
    }
    if (isDone) this.#owner.count("drip");
  }
}
