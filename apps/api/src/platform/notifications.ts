import type pg from "pg";
import type { News } from "./committed-news.ts";
import type { Logger } from "./log.ts";
import { PrimaryClient } from "./primary-client.ts";

/**
 * Called with the payload of a NOTIFY, or null when some may have been missed: then the state must be read.
 */
export type Listener = (payload: string | null) => void;

/**
 * All channels from the start: a LISTEN sent with the first listener would take effect only after it waits.
 */
const channels = ["kule_job", "kule_region", "kule_token", "kule_invariants", "kule_console"] as const;
export type Channel = (typeof channels)[number];

/**
 * One connection that listens for the whole process. A NOTIFY is a hint to read the state, never the state
 * itself, so a broken connection costs only time: after the reconnect every listener is called once with
 * null.
 */
export class Notifications {
  readonly #url: string;
  readonly #log: Logger;
  readonly #listeners = new Map<string, Set<Listener>>(channels.map((channel) => [channel, new Set()]));
  readonly #outgoing = new Map<string, News>();
  #publishing = false;
  #client: pg.Client | null = null;
  #retry: NodeJS.Timeout | null = null;
  #stopped = true;
  #failures = 0;

  constructor(url: string, log: Logger) {
    this.#url = url;
    this.#log = log;
  }

  /** True while a NOTIFY would reach us. */
  get connected(): boolean {
    return this.#client !== null;
  }

  /** @returns a function that ends the subscription */
  subscribe(channel: Channel, listener: Listener): () => void {
    const listeners = this.#listeners.get(channel);
    listeners?.add(listener);
    return () => {
      listeners?.delete(listener);
    };
  }

  /**
   * Notifies every listener, in this process and in all others. News that arrive while a NOTIFY is being sent
   * are sent together in the next one, without duplicates. What cannot be sent is dropped: it is a hint.
   */
  publish(news: readonly News[]): void {
    for (const each of news) this.#outgoing.set(`${each.channel} ${each.payload}`, each);
    if (!this.#publishing) void this.#publishAll();
  }

  async #publishAll(): Promise<void> {
    this.#publishing = true;
    try {
      while (this.#outgoing.size > 0 && this.#client !== null) {
        const batch = [...this.#outgoing.values()];
        this.#outgoing.clear();
        await this.#client.query({
          name: "publish",
          text: "select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as news (channel, payload)",
          values: [batch.map((each) => each.channel), batch.map((each) => each.payload)],
        });
      }
    } catch (error) {
      this.#log.debug({ err: error }, "a notification could not be sent");
    } finally {
      this.#outgoing.clear();
      this.#publishing = false;
    }
  }

  /** Connects; on failure, retries until `stop`. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const client = new PrimaryClient({
      connectionString: this.#url,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      connectionTimeoutMillis: 5_000,
      application_name: "kule-api-listen",
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, null));
    client.on("notification", ({ channel, payload }) => this.#emit(channel, payload ?? ""));
    try {
      await client.connect();
      // A NOTIFY waits for the disk like any commit, one at a time in the whole cluster; a hint need not.
      await client.query("set synchronous_commit = off");
      for (const channel of channels) await client.query(`listen ${channel}`);
    } catch (error) {
      this.#later(error);
      client.end().catch(() => {});
      return;
    }
    if (this.#stopped) return void client.end().catch(() => {});
    this.#client = client;
    if (this.#failures > 0) this.#log.info("notifications are connected again");
    this.#failures = 0;
    for (const channel of channels) this.#emit(channel, null);
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.end().catch(() => {});
    this.#later(error);
  }

  #later(error: unknown): void {
    if (this.#stopped || this.#retry !== null) return;
    this.#failures += 1;
    if (this.#failures === 1) this.#log.warn({ err: error }, "notifications are disconnected; retrying");
    const delayMs = Math.min(5_000, 100 * 2 ** this.#failures);
    this.#retry = setTimeout(() => {
      this.#retry = null;
      void this.#connect();
    }, delayMs);
    this.#retry.unref();
  }

  #emit(channel: string, payload: string | null): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(payload);
  }
}
