import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type ApiClient, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { PanelBrowser } from "../panel-sessions/panel-browser.ts";

/** A subnet has capacity for more; with this many to one organisation creates do not queue for one lock. */
const SERVERS_OF_AN_ORGANISATION = 40;
/** Longer than anybody may wait for an answer that does not wait by itself. */
const HANG_MS = 20_000;

export type LoadPlaces = {
  /** The API as clients reach it. */
  readonly apiOrigin: string;
  /** The panel as browsers reach it; null: nobody uses it. */
  readonly panelOrigin: string | null;
  /** Whether the panel that comes serves the scripts and styles of the one that goes. */
  readonly hasAssets: boolean;
  readonly operatorToken: string;
  readonly person: { readonly email: string; readonly password: string };
};

/** Everything that people, scripts and browsers do while Kule is upgraded, again and again, without a second try of anything. */
export class UpgradeLoad {
  /** Each as a sentence; none is allowed. */
  readonly errors: string[] = [];
  /** Of every call that does not wait by itself. */
  readonly milliseconds: number[] = [];
  /** Names of the servers that were accepted, by their ids; those that were deleted again too. */
  readonly accepted = new Map<string, string>();
  readonly deleted = new Set<string>();
  streams = 0;
  /** Event streams that ended before their job, and were opened again. */
  reopened = 0;
  pages = 0;
  readonly #places: LoadPlaces;
  readonly #over = new AbortController();
  readonly #jobs: { readonly id: string; readonly server: string; readonly client: ApiClient }[] = [];
  readonly #running: Promise<void>[] = [];
  readonly #waitedFor = new Set<string>();
  #organisation: { readonly client: ApiClient; left: number } | null = null;
  #named = 0;

  constructor(places: LoadPlaces) {
    this.#places = places;
  }

  start(clients: number): void {
    for (let count = 0; count < clients; count += 1) {
      this.#running.push(this.#again("a create", 60, () => this.#create()));
      this.#running.push(this.#again("a read", 15, () => this.#read()));
      this.#running.push(this.#again("a delete", 200, () => this.#remove()));
      this.#running.push(this.#again("a stream", 20, () => this.#follow()));
      this.#running.push(this.#again("a wait", 20, () => this.#wait()));
    }
    const { panelOrigin } = this.#places;
    if (panelOrigin !== null) this.#running.push(this.#visit(panelOrigin));
  }

  async end(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#running);
  }

  async #again(what: string, pauseMs: number, work: () => Promise<unknown>): Promise<void> {
    while (!this.#over.signal.aborted) {
      await work().catch((error: unknown) => {
        const cause =
          error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
        this.errors.push(`${what}: ${error instanceof Error ? error.message : String(error)}${cause}`);
      });
      await delay(pauseMs);
    }
  }

  #client(organisationId?: string): ApiClient {
    return createApiClient({
      baseUrl: `${this.#places.apiOrigin}/api/v1`,
      token: this.#places.operatorToken,
      readRetries: 0,
      timeoutMs: HANG_MS,
      ...(organisationId === undefined ? {} : { organisationId }),
    });
  }

  async #create(): Promise<void> {
    // Another client may be making one.
    let organisation = this.#organisation;
    if (organisation === null || organisation.left === 0) {
      const slug = `org-${randomUUID().slice(0, 18)}`;
      const made = await this.#timed(
        201,
        this.#client().POST("/organisations", { body: { slug, name: slug } }),
      );
      organisation = { client: this.#client(made.id), left: SERVERS_OF_AN_ORGANISATION };
      this.#organisation = organisation;
    }
    organisation.left -= 1;
    this.#named += 1;
    const name = `s-${this.#named}`;
    const { client } = organisation;
    const body = { name, region: "lab1", image: "ubuntu-24.04", package: "s" };
    const params = { header: { "Idempotency-Key": randomUUID() } };
    const made = (await this.#timed(
      202,
      client.POST("/servers", { body, params }),
    )) as Schemas["ServerCreated"];
    if (this.accepted.has(made.server.id))
      this.errors.push(`${name} was answered ${made.server.id}, as another one`);
    this.accepted.set(made.server.id, name);
    this.#jobs.push({ id: made.job.id, server: made.server.id, client });
  }

  async #read(): Promise<void> {
    const job = this.#jobs.at(-1 - Math.floor(Math.random() * 20)) ?? this.#jobs.at(-1);
    if (job === undefined) return;
    await this.#timed(200, job.client.GET("/servers", { params: { query: { limit: 20 } } }));
    await this.#timed(
      200,
      job.client.GET("/servers/{server_id}", { params: { path: { server_id: job.server } } }),
    );
  }

  /** Deletes the oldest ones; the worker destroys them. */
  async #remove(): Promise<void> {
    const job = this.#jobs.find(({ server }) => !this.deleted.has(server));
    if (job === undefined || this.#jobs.length < 8) return;
    const { status } = await this.#timed(
      200,
      job.client.GET("/servers/{server_id}", { params: { path: { server_id: job.server } } }),
    );
    if (status !== "running" || this.deleted.has(job.server)) return;
    this.deleted.add(job.server);
    await this.#timed(
      202,
      job.client.DELETE("/servers/{server_id}", { params: { path: { server_id: job.server } } }),
    );
  }

  async #wait(): Promise<void> {
    const job = this.#jobs.at(-1);
    // A job that is done is answered at once, and may not be asked for again and again.
    if (job === undefined || this.#waitedFor.has(job.id)) return;
    this.#waitedFor.add(job.id);
    const params = { path: { job_id: job.id }, query: { wait: 5 } };
    const { data, error, response } = await job.client.GET("/jobs/{job_id}", { params });
    if (data === undefined) throw new Error(`${response.status} ${JSON.stringify(error)}`);
  }

  /** Follows a job until it is done; a stream that ends before is opened again, as browsers do. */
  async #follow(): Promise<void> {
    const job = this.#jobs.at(-1);
    if (job === undefined) return;
    this.streams += 1;
    for (let opened = 0; !this.#over.signal.aborted; opened += 1) {
      if (opened > 0) this.reopened += 1;
      const { data, error, response } = await job.client.GET("/jobs/{job_id}/events", {
        params: { path: { job_id: job.id } },
        parseAs: "stream",
        signal: this.#over.signal,
      });
      if (data === undefined || data === null) throw new Error(`${response.status} ${JSON.stringify(error)}`);
      let seen = "";
      try {
        const decoder = new TextDecoder();
        for await (const part of data as ReadableStream<Uint8Array>)
          seen += decoder.decode(part, { stream: true });
      } catch (failure) {
        if (this.#over.signal.aborted) return;
        throw failure;
      }
      if (/"done":\s*true/.test(seen)) return;
      await delay(100);
    }
  }

  /** A person who signed in before the upgrade and goes on, with every script and style that each page names. */
  async #visit(origin: string): Promise<void> {
    const browser = new PanelBrowser(origin);
    const { status } = await browser.signIn(this.#places.person);
    if (status !== 303) this.errors.push(`the sign-in was answered ${status}`);
    const first = await browser.get("/servers");
    const assets = (html: string) =>
      [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
    // The page of the panel before stays open: what it names must be there whichever panel answers.
    const firstAssets = assets(await first.text());
    await this.#again("a page", 50, async () => {
      for (const path of ["/servers", "/networks", "/account/security"]) {
        const response = await browser.get(path);
        const html = await response.text();
        this.pages += 1;
        if (response.status !== 200)
          throw new Error(`${path} was answered ${response.status} (${response.headers.get("location")})`);
        if (!this.#places.hasAssets) continue;
        for (const asset of new Set([...assets(html), ...firstAssets])) {
          const { status: found } = await browser.get(asset);
          if (found !== 200) throw new Error(`${asset} of ${path} was answered ${found}`);
        }
      }
    });
  }

  async #timed<Data>(
    status: number,
    call: Promise<{ data?: Data; error?: unknown; response: Response }>,
  ): Promise<Data> {
    const startedAt = performance.now();
    const { data, error, response } = await call;
    this.milliseconds.push(performance.now() - startedAt);
    if (response.status !== status || data === undefined)
      throw new Error(`${response.status} ${JSON.stringify(error)?.slice(0, 300)}`);
    return data;
  }
}
