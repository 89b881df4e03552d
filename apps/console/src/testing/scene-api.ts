import { createApp } from "@kule/api/app";
import { createLog } from "@kule/api/platform/log";
import { type OpenDeps, openDeps } from "@kule/api/platform/open-deps";
import type { Settings } from "@kule/api/platform/settings";
import { type Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { testSettings } from "@kule/api/testing/api-world";
import { TestAgent } from "@kule/api/testing/test-agent";
import { checkInvariants } from "@kule/api/worker/check-invariants";
import { tasksOf } from "@kule/api/worker/run";
import { type FreshDatabase, freshDatabase, type SeededTemplate } from "@kule/testing/database";
import { openRestorer, type Restorer } from "@kule/testing/kept-rows";
import type { Hono } from "hono";
import pg from "pg";
import { silentDns } from "./silent-dns.ts";
import { testSecret } from "./test-panel.ts";

/** The secrets and identifiers that every scene has. */
export type Callers = {
  readonly operatorToken: string;
  /** The organisation, and a token of it with the role owner. */
  readonly acme: {
    readonly id: string;
    readonly slug: string;
    readonly name: string;
    readonly token: string;
  };
  /** Of the agent of region ist1. */
  readonly agentToken: string;
};

/** What differs between the worlds that use an API one after the other. */
export type Addresses = { readonly publicUrl: string; readonly consoleOrigins: readonly string[] };

/**
 * The real API in this process over a copy of a scene, and callers of it: an operator, the organisation, and the
 * region's agent, which ends jobs. Their calls are not among those of the panel.
 */
export class SceneApi {
  readonly app: Hono;
  readonly operator: ApiCaller;
  /** Calls as the organisation, with the role owner. */
  readonly acme: ApiCaller;
  readonly agent: TestAgent;
  /** Errors of the API: answers that do not fit the contract, changes without an audit row, bugs. */
  readonly defects: readonly string[];
  readonly #logged: string[];
  readonly #opened: OpenDeps;
  readonly #settings: Addresses;
  readonly #owner: pg.Pool;
  readonly #database: FreshDatabase;
  readonly #callers: Callers;
  #restorer: Restorer | null = null;

  private constructor(
    database: FreshDatabase,
    callers: Callers,
    opened: OpenDeps,
    settings: Addresses,
    defects: string[],
  ) {
    this.app = createApp(opened.deps);
    this.operator = new ApiCaller(this.app, callers.operatorToken);
    this.acme = new ApiCaller(this.app, callers.acme.token);
    this.agent = new TestAgent(new ApiCaller(this.app, callers.agentToken));
    this.defects = defects;
    this.#logged = defects;
    this.#opened = opened;
    this.#settings = settings;
    this.#owner = new pg.Pool({ connectionString: database.ownerUrl, max: 1 });
    this.#owner.on("error", () => {});
    this.#database = database;
    this.#callers = callers;
  }

  /** @param template of a scene; its copy is dropped by `close` */
  static async open(template: SeededTemplate<Callers>, settings: Partial<Settings> = {}): Promise<SceneApi> {
    const database = await freshDatabase(template);
    const defects: string[] = [];
    const log = createLog("error", { write: (line) => defects.push(defectIn(line)) });
    // Each connection costs milliseconds to open; a page makes a few calls at once.
    const few = { poolSize: 4 };
    const all = {
      ...testSettings(database.apiUrl),
      ...few,
      consoleKeys: [testSecret],
      dns: silentDns,
      ...settings,
    };
    const api = new SceneApi(database, template.facts, await openDeps(all, log), all, defects);
    await api.reportAgain();
    return api;
  }

  /** Where clients find this API, and the panel. */
  standAt(addresses: Addresses): void {
    Object.assign(this.#settings, addresses);
  }

  /** Everything is as the scene has it again. */
  async restore(): Promise<void> {
    this.#restorer ??= await openRestorer(this.#database.ownerUrl);
    await this.#restorer.restore();
    this.#opened.deps.tokens.forgetOrganisation(this.#callers.acme.id);
    await this.reportAgain();
  }

  /** The body of what the organisation can read. */
  async read(path: string): Promise<Answer["body"]> {
    return done(this.acme.get(path));
  }

  /** The items of a list of the organisation, as it is sorted. */
  async list(path: string): Promise<Answer["body"][]> {
    return (await this.read(path)).items;
  }

  /** Runs a statement as the owner of the tables: for what no call of the API does, such as moving time. */
  // biome-ignore lint/suspicious/noExplicitAny: rows of whatever the test asks for
  async sql(text: string, values: readonly unknown[] = []): Promise<any[]> {
    return (await this.#owner.query(text, [...values])).rows;
  }

  /** Alarms that the test has caused, which the log has as errors: they are no defects from now on. */
  takeAlarms(): string[] {
    return this.#logged.splice(0);
  }

  /** The worker's check of the invariants, which stores its report. What it finds is no defect of the API. */
  async checkInvariants(): Promise<void> {
    const client = await this.#owner.connect();
    try {
      await checkInvariants({ ...this.#opened.deps, log: createLog("fatal") }, client);
    } finally {
      client.release();
    }
  }

  /** A task of the worker, once. What it raises as an alarm is no defect of the API. */
  async runTask(name: "advance_rollout"): Promise<void> {
    await tasksOf({ ...this.#opened.deps, log: createLog("fatal") })[name]?.({}, {} as never);
  }

  /**
   * As if the agent had just reported: a scene is minutes older than its copy. A region counts as silent after a
   * minute, and the lease of a running job ends.
   */
  async reportAgain(): Promise<void> {
    await this.#owner.query(`
      update region set health_at = clock_timestamp(), edge_at = clock_timestamp() where health_at is not null;
      update region_inventory set capacity_at = clock_timestamp(), ended_at = clock_timestamp()
       where capacity_at is not null;
      update server set observed_at = clock_timestamp() where observed_at is not null;
      update job set lease_until = clock_timestamp() + interval '90 seconds' where status = 'running'`);
  }

  /** Ends the connections to the database and leaves it. */
  async leave(): Promise<FreshDatabase> {
    await this.#restorer?.end();
    await this.#owner.end();
    await this.#opened.close();
    return this.#database;
  }

  async close(): Promise<void> {
    await (await this.leave()).drop();
  }
}

/** The body of an answer that must be a success. */
export async function done(answer: Promise<Answer>): Promise<Answer["body"]> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

function defectIn(line: string): string {
  const {
    msg,
    operation = "",
    err,
  } = JSON.parse(line) as {
    readonly msg: string;
    readonly operation?: string;
    readonly err?: { readonly message?: string; readonly stack?: string };
  };
  return `${operation} ${msg}: ${err?.stack ?? err?.message ?? ""}`.trim();
}
