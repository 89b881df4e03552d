import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Schemas } from "@kule/contract/schemas";
import type { DnsProvider } from "@kule/dns/dns-provider";
import { powerDnsProvider } from "@kule/dns/powerdns";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { readDnsFile } from "@kule/region-config/dns-file";
import pg from "pg";
import { expect } from "vitest";
import { dnsInstallation } from "../platform/dns-installation.ts";
import type { Settings } from "../platform/settings.ts";
import { jobHandlers } from "../products/job-handlers.ts";
import { type CheckedDomains, checkDomains, compareDomains } from "../worker/check-domains.ts";
import { dnsWork, openDnsProvider } from "../worker/dns-work.ts";
import { workOwnJobs } from "../worker/own-jobs.ts";
import { tasksOf } from "../worker/run.ts";
import type { ApiCaller } from "./api-caller.ts";
import { ApiWorld, type TestOrganisation } from "./api-world.ts";

const apiKey = "key-of-the-tests";
/** Where `test` and everything below it is registered. */
const registry = "test";

type Sets = Readonly<Record<string, readonly string[]>>;

/**
 * The API with domains that are really served: one stand-in is the DNS provider, another one all of the Internet above it,
 * with a registry for `test`; and a worker for the control plane's own jobs.
 */
export class ServedDomainWorld {
  readonly world: ApiWorld;
  /** The provider's daemon: its API can be made to fail. */
  readonly lab: DnsLab;
  readonly provider: DnsProvider;
  readonly #internet: DnsLab;
  readonly #registrar: DnsProvider;
  readonly #dataDir: string;
  readonly #database: pg.Pool;
  readonly #path: string;
  #worker: { readonly stop: AbortController; readonly ended: Promise<void> } | null = null;
  #names = 0;

  private constructor(parts: {
    world: ApiWorld;
    lab: DnsLab;
    internet: DnsLab;
    dataDir: string;
    path: string;
  }) {
    this.world = parts.world;
    this.lab = parts.lab;
    this.provider = powerDnsProvider({ url: parts.lab.url, apiKey });
    this.#internet = parts.internet;
    this.#registrar = powerDnsProvider({ url: parts.internet.url, apiKey });
    this.#dataDir = parts.dataDir;
    this.#path = parts.path;
    this.#database = new pg.Pool({ connectionString: parts.world.database.ownerUrl, max: 2 });
    this.#database.on("error", () => {});
  }

  static async open(settings: Partial<Settings> = {}): Promise<ServedDomainWorld> {
    const dataDir = mkdtempSync(join(tmpdir(), "kule-domains-"));
    const [lab, internet] = await Promise.all([
      startDnsLab({ dataDir: join(dataDir, "provider"), apiKey }),
      startDnsLab({ dataDir: join(dataDir, "internet"), apiKey }),
    ]);
    const path = join(dataDir, "dns.yaml");
    writeFileSync(path, dnsFile(lab, internet));
    const file = readDnsFile(path);
    if (typeof file === "string") throw new Error(file);
    const world = await ApiWorld.open({ dns: { path, file }, ...settings });
    const opened = new ServedDomainWorld({ world, lab, internet, dataDir, path });
    await opened.#registrar.createZone(registry, [`ns1.${registry}`]);
    return opened;
  }

  addOrganisation(slug: string): Promise<TestOrganisation> {
    return this.world.addOrganisation(slug);
  }

  /** A name of the registry that nobody has. */
  name(): string {
    this.#names += 1;
    return `d${this.#names}.${registry}`;
  }

  /** Enters record sets at the registry, by "name TYPE"; none of a name deletes the record set. */
  async register(sets: Sets): Promise<void> {
    await this.#registrar.changeZone(
      registry,
      Object.entries(sets).map(([key, contents]) => {
        const [name = "", type = ""] = key.split(" ");
        return contents.length === 0
          ? { change: "delete", name: `${name}.`, type }
          : { change: "replace", recordSet: { name: `${name}.`, type, ttlSeconds: 60, contents } };
      }),
    );
  }

  /** Enters the TXT record that proves the domain. */
  enterProof({ verification }: Pick<Schemas["Domain"], "verification">): Promise<void> {
    const { name = "", value = "" } = verification?.record ?? {};
    return this.register({ [`${name} TXT`]: [`"${value}"`] });
  }

  /** Delegates the domain to the name servers that it was told. */
  delegate({ name, name_servers }: Pick<Schemas["Domain"], "name" | "name_servers">): Promise<void> {
    return this.register({ [`${name} NS`]: name_servers.map((server) => `${server}.`) });
  }

  /** A domain that is not proven. */
  async addDomain(
    owner: ApiCaller,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Schemas["Domain"]> {
    const answer = await owner.post("/domains", { name: this.name(), ...more });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body.domain;
  }

  /** A domain that is proven and served. */
  async addServedDomain(
    owner: ApiCaller,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Schemas["Domain"]> {
    const domain = await this.addDomain(owner, more);
    await this.enterProof(domain);
    const proven = await owner.post(`/domains/${domain.id}/verify`);
    expect(proven.status, JSON.stringify(proven.body)).toBe(202);
    await this.jobDone(owner, proven.body.job.id);
    return (await owner.get(`/domains/${domain.id}`)).body;
  }

  /** What a worker of its own process needs to serve domains. */
  workerEnvironment(): Readonly<Record<string, string>> {
    return { KULE_DNS_FILE: this.#path, KULE_DNS_API_KEY: apiKey };
  }

  /** A worker that does the control plane's own jobs. */
  startWorker(): void {
    const { dns } = this.world.replica.deps.settings;
    if (dns === null) throw new Error("there is no DNS file");
    const work = dnsWork(
      openDnsProvider(this.#path, { KULE_DNS_API_KEY: apiKey }),
      dnsInstallation(dns.file),
    );
    const stop = new AbortController();
    this.#worker = { stop, ended: workOwnJobs(this.world.replica.deps, jobHandlers, work, stop.signal) };
  }

  async stopWorker(): Promise<void> {
    this.#worker?.stop.abort();
    await this.#worker?.ended;
    this.#worker = null;
  }

  /** What the worker does every minute. */
  check(): Promise<CheckedDomains> {
    return checkDomains(this.world.replica.deps);
  }

  /** Does the tasks that a domain's end has left, as the worker does. */
  async endDomains(): Promise<void> {
    const tasks = await this.rows(
      `delete from graphile_worker._private_jobs j using graphile_worker._private_tasks t
        where t.id = j.task_id and t.identifier = 'end_domain' returning j.payload`,
    );
    const { end_domain: task } = tasksOf(this.world.replica.deps);
    for (const { payload } of tasks) await task?.(payload, {} as never);
  }

  compare(): Promise<number> {
    return compareDomains(this.world.replica.deps, this.provider);
  }

  /** The job once it has ended. */
  async jobDone(caller: ApiCaller, id: string): Promise<Schemas["Job"]> {
    for (const deadline = Date.now() + 60_000; ; ) {
      const { body } = await caller.get(`/jobs/${id}?wait=5`);
      if (body.done) return body;
      if (Date.now() > deadline) throw new Error(`job ${id} is ${body.status}: ${JSON.stringify(body)}`);
    }
  }

  /** As the owner of the tables: reads, and moves time. */
  async rows(query: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.#database.query(query, [...values])).rows;
  }

  async close(): Promise<void> {
    await this.stopWorker();
    await this.#database.end();
    await this.world.close();
    await Promise.all([this.lab.close(), this.#internet.close()]);
    rmSync(this.#dataDir, { recursive: true, force: true });
  }
}

const dnsFile = (lab: DnsLab, internet: DnsLab) => `
provider:
  type: powerdns
  url: ${lab.url}
  api_key_env: KULE_DNS_API_KEY
name_servers:
  - name: "*.ns1.kule.example"
    addresses: [${lab.address}]
    port: ${lab.dnsPort}
  - name: "*.ns2.kule.example"
    addresses: [${lab.address}]
    port: ${lab.dnsPort}
resolving:
  roots: [${internet.address}]
  port: ${internet.dnsPort}
  allow_private: true
`;
