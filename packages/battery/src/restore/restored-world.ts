import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { bundleApps } from "@kule/build/bundle-apps";
import { type RegionWorld, startRegionWorld } from "@kule/testing/region-world";
import { RestorablePostgres } from "@kule/testing/rig/restorable-postgres";
import { type ObservedVm, viewOfVms } from "@kule/testing/world-check/region-invariants";
import pg from "pg";
import { inParallel } from "../races/in-parallel.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of many operations
export type Json = any;
export type Answer = { readonly status: number; readonly body: Json };

const patienceMs = 60_000;
const root = `${import.meta.dirname}/../../../..`;

/** The API with a token, in an organisation where one is named. */
export class Caller {
  readonly #apiUrl: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(apiUrl: string, token: string, organisation?: string) {
    this.#apiUrl = apiUrl;
    this.#headers = {
      Authorization: `Bearer ${token}`,
      ...(organisation === undefined ? {} : { "Kule-Organisation": organisation }),
    };
  }

  async ask(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${this.#apiUrl}${path}`, {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(40_000),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
  }

  /** An answer of 2xx. @throws Error for any other */
  async must(method: string, path: string, body?: object): Promise<Json> {
    const answer = await this.ask(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** The same for what has a job, when that is done. */
  async done(method: string, path: string, body?: object): Promise<Json> {
    const answer = await this.must(method, path, body);
    await this.untilDone(answer.job.id);
    return answer;
  }

  async untilDone(job: string): Promise<Json> {
    return until(`job ${job} to be done`, async () => {
      const found = await this.must("GET", `/jobs/${job}?wait=5`);
      if (!found.done) return null;
      if (found.status === "failed") throw new Error(`job ${job} failed: ${JSON.stringify(found.error)}`);
      return found;
    });
  }
}

/** @throws Error when it does not come true in a minute */
export async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error(`waited a minute for ${what}`);
    await delay(100);
  }
}

/** Two organisations in a region with real processes, on a Postgres that is backed up. */
export class RestoredWorld {
  readonly postgres: RestorablePostgres;
  readonly region: RegionWorld;
  readonly operator: Caller;
  /** Of the customers, by their names. */
  readonly customers: ReadonlyMap<
    string,
    { readonly id: string; readonly api: Caller; readonly operator: Caller }
  >;
  #agent: ReturnType<RegionWorld["startAgent"]>;

  private constructor(
    postgres: RestorablePostgres,
    region: RegionWorld,
    customers: RestoredWorld["customers"],
    operator: Caller,
  ) {
    this.postgres = postgres;
    this.region = region;
    this.customers = customers;
    this.operator = operator;
    this.#agent = startAgent(region);
  }

  static async open(addresses: number): Promise<RestoredWorld> {
    const postgres = await RestorablePostgres.open();
    let region: RegionWorld | null = null;
    try {
      region = await startRegionWorld({
        database: postgres.database,
        leaseSeconds: 10,
        removalBufferSeconds: 3_600,
        labSize: 20,
      });
      const { apiUrl, operatorToken } = region;
      const operator = new Caller(apiUrl, operatorToken);
      const customers = new Map(
        await inParallel(
          2,
          2,
          async (index): Promise<[string, { id: string; api: Caller; operator: Caller }]> => {
            const name = ["acme", "beta"][index] ?? "";
            const { id } = await operator.must("POST", "/organisations", { slug: name, name });
            const acting = new Caller(apiUrl, operatorToken, id);
            return [name, { id, api: acting, operator: acting }];
          },
        ),
      );
      const pool = await operator.must("POST", "/ip-pools", {
        region: "lab1",
        name: "public",
        gateway: "203.0.113.1",
        prefix_length: 24,
      });
      await operator.must("POST", `/ip-pools/${pool.id}/ranges`, { cidr: "203.0.113.0/24" });
      for (const { id } of customers.values())
        await operator.must("POST", `/ip-pools/${pool.id}/allocations`, {
          organisation_id: id,
          count: addresses,
        });
      return new RestoredWorld(postgres, region, customers, operator);
    } catch (error) {
      await region?.end();
      await postgres.close();
      throw error;
    }
  }

  of(name: string): Caller {
    const customer = this.customers.get(name);
    if (customer === undefined) throw new Error(`there is no customer ${name}`);
    return customer.api;
  }

  /** Creates a server and waits for it. */
  async create(customer: string, name: string, more: object = {}): Promise<Json> {
    const body = { name, region: "lab1", image: "ubuntu-24.04", package: "s", ...more };
    const { server } = await this.of(customer).done("POST", "/servers", body);
    return this.of(customer).must("GET", `/servers/${server.id}`);
  }

  vms(): Promise<readonly ObservedVm[]> {
    return viewOfVms(this.region.labControlUrl);
  }

  destroys(): ReadonlyMap<number, number> {
    return this.region.effects().destroys;
  }

  async endAgent(): Promise<void> {
    await this.#agent.end("SIGKILL");
  }

  startAgent(): void {
    this.#agent = startAgent(this.region);
  }

  /** All processes of the control plane and the agent die with the database, which comes back as it was. */
  async restoreTo(moment: string): Promise<void> {
    await this.postgres.archiveAll();
    await Promise.all([this.endAgent(), this.region.api.end("SIGKILL"), this.region.worker.end("SIGKILL")]);
    await this.postgres.restoreTo(moment);
    const [apiMain = ""] = await bundleApps(["apps/api"]);
    await promisify(execFile)(process.execPath, [apiMain, "restored"], {
      cwd: root,
      env: { PATH: process.env.PATH ?? "", KULE_OWNER_DATABASE_URL: this.postgres.database.ownerUrl },
    });
    await this.region.startApi();
    this.region.startWorker();
  }

  async rows(text: string, values: readonly unknown[] = []): Promise<Json[]> {
    const client = new pg.Client({ connectionString: this.postgres.database.ownerUrl });
    await client.connect();
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  async end(): Promise<void> {
    await this.region.end();
    await this.postgres.close();
  }
}

const startAgent = (region: RegionWorld) =>
  region.startAgent({ KULE_AGENT_INVENTORY_SECONDS: "1", KULE_AGENT_CONCURRENCY: "4" });
