import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { TestOrganisation } from "@kule/api/testing/api-world";
import { ServedDomainWorld } from "@kule/api/testing/served-domain-world";
import { bundleApps } from "@kule/build/bundle-apps";
import type { Schemas } from "@kule/contract/schemas";
import { startProcess, type TestProcess } from "@kule/testing/child-process";
import { worldCheck } from "@kule/testing/world-check/world-check";
import { apiEnvironment } from "../api-crash/killable-api.ts";
import { differingAnswers } from "./served-answers.ts";

const root = resolve(import.meta.dirname, "../../../..");
export const leaseSeconds = 2;
const deathMilliseconds = 20_000;
const endMilliseconds = 60_000;

type Pending = { readonly domain: Schemas["Domain"]; readonly job: string; readonly gone: readonly string[] };

/** Domains of one organisation, a provider that can fail, and workers as processes that can be killed. */
export class DomainStage {
  readonly domains: ServedDomainWorld;
  readonly acme: TestOrganisation;
  readonly #main: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "kule-domain-stage-"));
  #changes = 0;

  private constructor(domains: ServedDomainWorld, acme: TestOrganisation, main: string) {
    this.domains = domains;
    this.acme = acme;
    this.#main = main;
  }

  static async open(): Promise<DomainStage> {
    const [bundle = ""] = await bundleApps(["apps/api"]);
    const domains = await ServedDomainWorld.open({ leaseSeconds });
    return new DomainStage(domains, await domains.addOrganisation("acme"), join(root, bundle));
  }

  /** A worker as it ships. */
  startWorker(battery: Readonly<Record<string, string>> = {}): TestProcess {
    const { database } = this.domains.world;
    return startProcess("worker", [this.#main, "worker"], {
      ...apiEnvironment(database.apiUrl),
      ...this.domains.workerEnvironment(),
      KULE_WORKER_DATABASE_URL: database.workerUrl,
      KULE_LEASE_SECONDS: String(leaseSeconds),
      KULE_LOG_LEVEL: "warn",
      ...battery,
    });
  }

  /** A new domain whose proof has just queued its first job. */
  async provenDomain(): Promise<Pending> {
    const { owner } = this.acme;
    const zone_file = 'www 300 IN A 192.0.2.1\n@ 300 IN TXT "one"\n';
    const domain = await this.domains.addDomain(owner, { zone_file });
    await this.domains.enterProof(domain);
    const proven = await owner.post(`/domains/${domain.id}/verify`);
    if (proven.status !== 202) throw new Error(`not proven: ${JSON.stringify(proven.body)}`);
    return { domain, job: proven.body.job.id, gone: [] };
  }

  /** Several changes of a served domain in one job. */
  async change({ domain }: Pick<Pending, "domain">): Promise<Pending> {
    this.#changes += 1;
    const old = `h${this.#changes - 1}`;
    const changed = await this.acme.owner.post(`/domains/${domain.id}/changes`, {
      changes: [
        { op: "upsert", name: `h${this.#changes}`, type: "A", values: [`192.0.2.${this.#changes % 250}`] },
        { op: "upsert", name: "@", type: "TXT", values: [`change ${this.#changes}`] },
        { op: "delete", name: old, type: "A" },
      ],
    });
    if (changed.status !== 202) throw new Error(`not changed: ${JSON.stringify(changed.body)}`);
    return { domain, job: changed.body.job.id, gone: [`${old}.${domain.name}`] };
  }

  /** The points that a worker passes while it does what is pending, in their order and each once. */
  async pointsOf(make: () => Promise<Pending>): Promise<string[]> {
    const trace = join(this.#folder, `trace-${this.#changes}-${Date.now()}`);
    await make();
    const pending = await this.#open();
    const worker = this.startWorker({ BATTERY_TRACE: trace });
    await this.#untilEnded(pending);
    await worker.end();
    const names = readFileSync(trace, "utf8").split("\n");
    return [
      ...new Set(names.filter((name) => /^(DomainApply|worker\.(claim_job|report_step))\./.test(name))),
    ];
  }

  /** Whether the worker died there; when it did, what is wrong once another worker has done the rest. */
  async killAt(point: string, make: () => Promise<Pending>): Promise<{ died: boolean; found: string[] }> {
    const pending = await make();
    const worker = this.startWorker({ BATTERY_CRASH: point });
    const end = await Promise.race([worker.ended, delay(deathMilliseconds, null, { ref: false })]);
    await worker.end("SIGKILL");
    const next = this.startWorker();
    const found = await this.judge(pending);
    await next.end();
    return { died: end?.signal === "SIGKILL", found };
  }

  /** What is wrong with the end of a job and with what is answered afterwards. */
  async judge({ domain, job, gone }: Pending): Promise<string[]> {
    const { status, error } = await this.#untilEnded([job]);
    if (status !== "succeeded") return [`its job is ${status}: ${JSON.stringify(error)}`];
    const { lab } = this.domains;
    const server = `${lab.address}:${lab.dnsPort}`;
    return differingAnswers(this.acme.owner, domain.id, server, gone);
  }

  /** What is wrong with the end of a job, if anything. */
  async ended(job: string): Promise<string[]> {
    const { status, error } = await this.#untilEnded([job]);
    return status === "succeeded" ? [] : [`job ${job} is ${status}: ${JSON.stringify(error)}`];
  }

  /** The job once its next attempt has ended. */
  async afterAttempt(job: string): Promise<{ readonly status: string; readonly error: string | null }> {
    const read = async () =>
      (await this.domains.rows("select epoch, status, error from job where id = $1", [job]))[0] ?? {};
    const before = Number((await read()).epoch);
    const deadline = performance.now() + endMilliseconds;
    for (;;) {
      await this.passPauses();
      const { epoch, status, error } = await read();
      const isOver = Number(epoch) > before && status !== "running";
      if (isOver || performance.now() > deadline) {
        const { code = null } = (error ?? {}) as { code?: string };
        return { status: String(status), error: code };
      }
      await delay(20);
    }
  }

  /** Counts the calls that change a zone at the provider from now on. */
  countChanges(): () => number {
    const { faults } = this.domains.lab;
    const { take } = faults;
    let calls = 0;
    faults.take = (method, url) => {
      if (method === "PATCH") calls += 1;
      return take(method, url);
    };
    return () => {
      faults.take = take;
      return calls;
    };
  }

  /** All invariants of the database. */
  async worldCheck(): Promise<string[]> {
    const found = await worldCheck({ ownerUrl: this.domains.world.database.ownerUrl });
    return found.map(({ invariant, check, subject }) => `world-check ${invariant} ${check}: ${subject}`);
  }

  /** What waits for its next attempt may have it now. */
  async passPauses(): Promise<void> {
    await this.domains.rows(
      `update job set run_at = clock_timestamp() where region is null and status = 'queued'`,
    );
  }

  /** What waits for its next attempt, or for the turn of its minute, may have it now. */
  async passTime(): Promise<void> {
    await this.passPauses();
    await this.domains.rows(
      `update graphile_worker._private_known_crontabs set last_execution = last_execution - interval '1 minute'
        where identifier = 'release_tasks'`,
    );
    await delay(200);
  }

  async close(): Promise<void> {
    await this.domains.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #open(): Promise<string[]> {
    const rows = await this.domains.rows("select id from job where status in ('queued', 'running')");
    return rows.map(({ id }) => String(id));
  }

  async #untilEnded(jobs: readonly string[]): Promise<{ status: string; error: unknown }> {
    const deadline = performance.now() + endMilliseconds;
    for (;;) {
      const rows = await this.domains.rows(
        "select status, error from job where id = any ($1) order by status in ('queued', 'running') desc limit 1",
        [jobs],
      );
      const [row] = rows;
      const status = String(row?.status ?? "missing");
      if (status !== "queued" && status !== "running") return { status, error: row?.error };
      if (performance.now() > deadline) return { status: `${status} for too long`, error: row?.error };
      await this.passPauses();
      await delay(50);
    }
  }
}
