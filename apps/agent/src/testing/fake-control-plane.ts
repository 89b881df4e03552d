// The control plane's calls that an agent makes, over real HTTP, with the state that decides their
// answers: claims by id, epochs, leases, reports by number. On request it loses replies, becomes unreachable
// and refuses tokens.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Envelope } from "@kule/agent-release/envelope";
import type { Schemas } from "@kule/contract/schemas";
import { validateBody } from "@kule/contract/validate";

type Report = Schemas["StepReport"];
type Reply = { readonly status: number; readonly body: unknown };

export type FakeJob = {
  readonly id: string;
  readonly kind: string;
  readonly payload: unknown;
  epoch: number;
  holder: string | null;
  cancelRequested: boolean;
  /** Not assigned until a test calls `offer`. */
  available: boolean;
  readonly reports: Report[];
  outcome: Schemas["JobOutcome"] | null;
};

export type SeenRequest = {
  readonly path: string;
  readonly at: number;
  readonly body: Record<string, unknown>;
  readonly status: number;
};

/** A release of the agent as the control plane passes it on. */
export type FakeRelease = { manifest: Envelope; file: Buffer };

export const TEST_TOKEN = "kule_agent_06ex2v3m8n_0123456789abcdefghijABCDEFGHIJ01a1b2c3";

export class FakeControlPlane {
  readonly jobs = new Map<string, FakeJob>();
  readonly requests: SeenRequest[] = [];
  readonly health: Schemas["HealthReport"][] = [];
  /** Batches of scans, in the order of their arrival. */
  readonly inventory: Schemas["InventoryReport"][] = [];
  /** Calls about machines of load balancers. */
  readonly loadBalancers: Schemas["LoadBalancerReport"][] = [];
  /** What these calls are answered, by their `after`; nothing to ask when it has none. */
  loadBalancerPages: Readonly<Record<string, Partial<Schemas["LoadBalancerReportAck"]>>> = {};
  /** Numbers that every scan is asked to query. */
  lookFor: readonly number[] = [];
  #pass = 0;
  /** By version. */
  readonly releases = new Map<string, FakeRelease>();
  releaseKeys: readonly Envelope[] = [];
  /** What health reports are answered. */
  updateTo: string | null = null;
  /** The places at which downloads began. */
  readonly downloads: number[] = [];
  /** After how many bytes a download is broken off; called for each one. */
  breakDownload: () => number | null = () => null;
  region = "lab1";
  actor: Schemas["Me"]["actor"] = "agent";
  leaseSeconds = 90;
  /** A claim without a job is answered after this at the latest. */
  longestWaitSeconds = Number.POSITIVE_INFINITY;
  /** Every call is answered with this status instead. */
  failWith: number | null = null;
  /** The call takes effect; its reply does not arrive. Called for each call, with its path. */
  loseReply: (path: string, body: Record<string, unknown>) => boolean = () => false;
  /** Called with every recorded report, before its reply. */
  onReport: (job: FakeJob, report: Report) => void | Promise<void> = () => {};
  /** Added to the Date header. */
  clockSkewMs = 0;
  readonly #claims = new Map<string, { jobId: string; epoch: number }>();
  readonly #server: Server;
  readonly #changed = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeControlPlane> {
    const server = createServer();
    const fake = new FakeControlPlane(server);
    server.on("request", (request, response) => void fake.#answer(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/v1`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Queues a job. */
  offer(id: string, payload: { readonly kind: string }): FakeJob {
    const job: FakeJob = {
      id,
      kind: payload.kind,
      payload,
      epoch: 0,
      holder: null,
      cancelRequested: false,
      available: true,
      reports: [],
      outcome: null,
    };
    this.jobs.set(id, job);
    this.#notify();
    return job;
  }

  /**
   * As the reaper does at the end of a lease: the holder's epoch is stale, and any agent may claim the job.
   */
  takeAway(job: FakeJob): void {
    job.epoch += 1;
    job.holder = null;
    job.available = true;
    this.#notify();
  }

  /** Resolves when the condition holds; it is evaluated after every call. */
  async until(condition: () => boolean, within = 10_000): Promise<void> {
    const deadline = performance.now() + within;
    while (!condition()) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Error("it did not come to that in time");
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.#changed.delete(done);
          resolve();
        };
        const timer = setTimeout(done, left);
        this.#changed.add(done);
      });
    }
  }

  requestsTo(path: string): SeenRequest[] {
    return this.requests.filter((request) => request.path.endsWith(path));
  }

  #notify(): void {
    for (const waiting of [...this.#changed]) waiting();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now();
    const path = request.url ?? "";
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    if (path.includes("/files/") && this.#download(request, response, path)) return this.#notify();
    const reply = await this.#reply(request, path, body, gone.signal);
    this.requests.push({ path, at, body, status: reply.status });
    if (this.loseReply(path, body)) request.socket.destroy();
    else {
      response.setHeader("date", new Date(Date.now() + this.clockSkewMs).toUTCString());
      response.setHeader("content-type", "application/json");
      response.statusCode = reply.status;
      response.end(reply.status === 204 ? undefined : JSON.stringify(reply.body));
    }
    this.#notify();
  }

  async #reply(
    request: IncomingMessage,
    path: string,
    body: Record<string, unknown>,
    gone: AbortSignal,
  ): Promise<Reply> {
    if (this.failWith !== null) return problem(this.failWith, "unavailable", path);
    if (request.headers.authorization !== `Bearer ${TEST_TOKEN}`)
      return problem(401, "unauthenticated", path);
    if (path.endsWith("/me")) return { status: 200, body: this.#me() };
    if (path.endsWith("/agent/jobs/claim")) return this.#claim(body as Schemas["ClaimRequest"], gone);
    if (path.endsWith("/agent/health")) return this.#health(body);
    if (path.endsWith("/agent/inventory")) return this.#inventory(body);
    if (path.endsWith("/agent/load-balancers")) return this.#loadBalancers(body);
    if (path.endsWith("/agent/release-keys")) return { status: 200, body: { envelopes: this.releaseKeys } };
    const [, version] = /\/agent\/releases\/([^/]+)$/.exec(path) ?? [];
    const release = version === undefined ? undefined : this.releases.get(version);
    if (release !== undefined) return { status: 200, body: { manifest: release.manifest } };
    const report = /\/agent\/jobs\/([^/]+)\/steps$/.exec(path);
    return report ? this.#report(report[1] ?? "", body as Report) : problem(404, "not_found", path);
  }

  /** The file, or what follows the bytes that are there. False when there is none. */
  #download(request: IncomingMessage, response: ServerResponse, path: string): boolean {
    const [, version = ""] = /\/agent\/releases\/([^/]+)\/files\//.exec(path) ?? [];
    const file = this.releases.get(version)?.file;
    if (file === undefined || this.failWith !== null) return false;
    const etag = `"${createHash("sha256").update(file).digest("hex")}"`;
    const [, from = "0"] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
    const start = request.headers["if-range"] === etag ? Number(from) : 0;
    this.downloads.push(start);
    this.requests.push({ path, at: performance.now(), body: {}, status: start > 0 ? 206 : 200 });
    const most = this.breakDownload();
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      "accept-ranges": "bytes",
      "content-type": "application/octet-stream",
      "content-length": file.length - start,
      ...(start > 0 ? { "content-range": `bytes ${start}-${file.length - 1}/${file.length}` } : {}),
    });
    if (most === null) response.end(file.subarray(start));
    else {
      // What was sent arrives, and the rest never comes.
      response.flushHeaders();
      if (most > 0) response.write(file.subarray(start, start + most));
      request.socket.destroySoon();
    }
    return true;
  }

  #me(): Schemas["Me"] {
    const token = { id: "tok_1", name: "agent", scopes: [], expires_at: null };
    return {
      actor: this.actor,
      user: null,
      organisation: null,
      role: null,
      permissions: [
        "agent:jobs",
        "agent:health",
        "agent:inventory",
        "agent:load-balancers",
        "agent:releases",
      ],
      region: this.actor === "agent" ? this.region : null,
      token,
    };
  }

  #health(body: Record<string, unknown>): Reply {
    const checked = validateBody("reportHealth", body);
    if (!checked.ok) return problem(422, "validation_failed", "/agent/health", checked.errors);
    this.health.push(body as Schemas["HealthReport"]);
    const answer = { region: this.region, server_time: new Date().toISOString(), update_to: this.updateTo };
    return { status: 200, body: answer };
  }

  /** Numbers the scans one after the other, and records the reports of each. */
  #inventory(body: Record<string, unknown>): Reply {
    const checked = validateBody("reportInventory", body);
    if (!checked.ok) return problem(422, "validation_failed", "/agent/inventory", checked.errors);
    const report = body as Schemas["InventoryReport"];
    if (report.pass === undefined) this.#pass += 1;
    else this.inventory.push(report);
    return {
      status: 200,
      body: { pass: this.#pass, recorded: true, look_for: [...this.lookFor], next_in_seconds: 30 },
    };
  }

  #loadBalancers(body: Record<string, unknown>): Reply {
    const checked = validateBody("reportLoadBalancers", body);
    if (!checked.ok) return problem(422, "validation_failed", "/agent/load-balancers", checked.errors);
    const report = body as Schemas["LoadBalancerReport"];
    this.loadBalancers.push(report);
    const page = report.after === undefined ? {} : this.loadBalancerPages[String(report.after)];
    return { status: 200, body: { machines: [], next: null, round_seconds: 30, ...page } };
  }

  async #claim(body: Schemas["ClaimRequest"], gone: AbortSignal): Promise<Reply> {
    const checked = validateBody("claimJob", body);
    if (!checked.ok) return problem(422, "validation_failed", "/agent/jobs/claim", checked.errors);
    const earlier = this.#claims.get(body.claim_id);
    if (earlier) {
      const job = this.jobs.get(earlier.jobId);
      return job?.epoch === earlier.epoch && job.holder === body.claim_id
        ? { status: 200, body: { job: this.#view(job) } }
        : { status: 204, body: null };
    }
    const waitSeconds = Math.min(body.wait_seconds ?? 0, this.longestWaitSeconds);
    const deadline = performance.now() + waitSeconds * 1000;
    for (;;) {
      const job = [...this.jobs.values()].find(
        (each) => each.available && each.holder === null && body.capabilities.includes(each.kind),
      );
      if (job) {
        job.epoch += 1;
        job.holder = body.claim_id;
        job.available = false;
        this.#claims.set(body.claim_id, { jobId: job.id, epoch: job.epoch });
        return { status: 200, body: { job: this.#view(job) } };
      }
      if (performance.now() >= deadline || gone.aborted) return { status: 204, body: null };
      const left = deadline - performance.now();
      await Promise.race([
        this.until(() => gone.aborted || this.#anyFor(body.capabilities), left).catch(() => {}),
        once(gone, "abort"),
      ]);
    }
  }

  #anyFor(capabilities: readonly string[]): boolean {
    return [...this.jobs.values()].some((each) => each.available && capabilities.includes(each.kind));
  }

  #view(job: FakeJob) {
    return {
      id: job.id,
      kind: job.kind,
      attempt: job.epoch,
      epoch: job.epoch,
      lease_seconds: this.leaseSeconds,
      lease_expires_at: new Date(Date.now() + this.leaseSeconds * 1000).toISOString(),
      cancel_requested: job.cancelRequested,
      payload: job.payload,
    };
  }

  async #report(jobId: string, body: Report): Promise<Reply> {
    const checked = validateBody("reportStep", body);
    if (!checked.ok) return problem(422, "validation_failed", "/agent/jobs/steps", checked.errors);
    const job = this.jobs.get(jobId);
    if (!job) return problem(404, "not_found", jobId);
    if (body.epoch !== job.epoch || job.holder === null) return problem(409, "stale_lease", jobId);
    if (!job.reports.some((each) => each.epoch === body.epoch && each.seq === body.seq)) {
      job.reports.push(body);
      await this.onReport(job, body);
      if (body.outcome) {
        job.outcome = body.outcome;
        if (body.outcome.status === "released") this.#release(job);
      }
    }
    const status = job.outcome?.status === "succeeded" ? "succeeded" : "running";
    return {
      status: 200,
      body: { lease_expires_at: null, cancel_requested: job.cancelRequested, status },
    };
  }

  /** Available again once a test resets the outcome, so that it can be checked first. */
  #release(job: FakeJob): void {
    job.available = false;
  }
}

function problem(status: number, code: string, instance: string, errors?: unknown): Reply {
  const body = { type: `https://kule.dev/errors/${code}`, title: code, status, code, detail: code, instance };
  return { status, body: { ...body, request_id: "req_test", ...(errors ? { errors } : {}) } };
}
