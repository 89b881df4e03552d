// The control plane as the agent sees it: seven calls, and for each only what the agent can do about the answer.

import { asProblem } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import type { ApiCalls, CallResult } from "./api-calls.ts";
import { OutagePace } from "./outage-pace.ts";
import { type AgentRuntime, withinTime } from "./runtime.ts";

export type Answer<Value> =
  | { readonly kind: "ok"; readonly value: Value; readonly date: Date | null }
  /** The token is not accepted, or not for this: nothing will work until an operator acts. */
  | { readonly kind: "unauthorized"; readonly message: string }
  /** The same call will be refused again. */
  | { readonly kind: "refused"; readonly status: number; readonly code: string; readonly message: string }
  /**
   * No answer, an answer that is not the API's, or one that asks to retry later. The call may have been
   * carried out.
   */
  | { readonly kind: "away"; readonly message: string; readonly retryAfterSeconds: number | null };

/** The control plane did not answer, or refused, and whoever called does not wait for it. */
export class Unanswered extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Unanswered";
  }
}

export type ClaimedJob = Schemas["ClaimedJob"]["job"];

export type ClaimedConsole = Schemas["ClaimedConsole"]["console"];

export type ControlPlaneOptions = {
  readonly calls: ApiCalls;
  readonly runtime: AgentRuntime;
  readonly crashPoint: CrashHook;
};

const CALL_MILLISECONDS = 10_000;
/** A batch of many servers is one transaction. */
const INVENTORY_MILLISECONDS = 20_000;
/** In addition to the time that a claim asks to wait. */
const CLAIM_MARGIN_MILLISECONDS = 10_000;

export class ControlPlane {
  readonly #calls: ApiCalls;
  readonly #runtime: AgentRuntime;
  readonly #pace: OutagePace;
  readonly #crashPoint: CrashHook;

  constructor(options: ControlPlaneOptions) {
    this.#crashPoint = options.crashPoint;
    this.#pace = new OutagePace(options.runtime);
    this.#calls = options.calls;
    this.#runtime = options.runtime;
  }

  /** The token's own data. */
  me(signal: AbortSignal): Promise<Answer<Schemas["Me"]>> {
    return this.#call("me", signal, CALL_MILLISECONDS, (limited) => this.#calls.me(limited));
  }

  /** The next job, or null. The same claim_id again answers the same job. */
  async claim(body: Schemas["ClaimRequest"], signal: AbortSignal): Promise<Answer<ClaimedJob | null>> {
    const timeoutMilliseconds = (body.wait_seconds ?? 0) * 1000 + CLAIM_MARGIN_MILLISECONDS;
    const answer = await this.#call("claim", signal, timeoutMilliseconds, (limited) =>
      this.#calls.claim(body, limited),
    );
    if (answer.kind !== "ok") return answer;
    const job = answer.value?.job ?? null;
    if (job !== null && !isUsable(job))
      return { kind: "away", message: "the answer to the claim is not a job", retryAfterSeconds: null };
    return { ...answer, value: job };
  }

  report(
    jobId: string,
    body: Schemas["StepReport"],
    signal: AbortSignal,
    timeoutMilliseconds: number,
  ): Promise<Answer<Schemas["StepAck"]>> {
    return this.#call("report", signal, Math.min(CALL_MILLISECONDS, timeoutMilliseconds), (limited) =>
      this.#calls.report(jobId, body, limited),
    );
  }

  health(body: Schemas["HealthReport"], signal: AbortSignal): Promise<Answer<Schemas["HealthAck"]>> {
    return this.#call("health", signal, CALL_MILLISECONDS, (limited) => this.#calls.health(body, limited));
  }

  /** Begins a scan, or reports a batch of one. */
  inventory(body: Schemas["InventoryReport"], signal: AbortSignal): Promise<Answer<Schemas["InventoryAck"]>> {
    return this.#call("inventory", signal, INVENTORY_MILLISECONDS, (limited) =>
      this.#calls.inventory(body, limited),
    );
  }

  /** Reports machines of load balancers, and asks which to ask next. */
  loadBalancers(
    body: Schemas["LoadBalancerReport"],
    signal: AbortSignal,
  ): Promise<Answer<Schemas["LoadBalancerReportAck"]>> {
    return this.#call("load-balancers", signal, INVENTORY_MILLISECONDS, (limited) =>
      this.#calls.loadBalancers(body, limited),
    );
  }

  /** The next console session, or null. The same claim_id again answers the same one. */
  async claimConsole(
    body: Schemas["ConsoleClaim"],
    signal: AbortSignal,
  ): Promise<Answer<ClaimedConsole | null>> {
    const timeoutMilliseconds = (body.wait_seconds ?? 0) * 1000 + CLAIM_MARGIN_MILLISECONDS;
    const answer = await this.#call("claim-console", signal, timeoutMilliseconds, (limited) =>
      this.#calls.claimConsole(body, limited),
    );
    return answer.kind === "ok" ? { ...answer, value: answer.value?.console ?? null } : answer;
  }

  async #call<Data>(
    name: string,
    signal: AbortSignal,
    milliseconds: number,
    send: (signal: AbortSignal) => Promise<CallResult<Data>>,
  ): Promise<Answer<Data>> {
    await this.#pace.turn(signal);
    await this.#crashPoint(`agent.${name}.before-send`);
    let result: CallResult<Data>;
    try {
      result = await withinTime(this.#runtime, milliseconds, signal, send);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      this.#pace.silent();
      return { kind: "away", message: describeFailure(error, milliseconds), retryAfterSeconds: null };
    }
    // The reply has arrived and was not acted upon: a kill here loses a reply that was never read.
    await this.#crashPoint(`agent.${name}.reply-read`);
    const answer = answerOf(result);
    if (answer.kind === "away") this.#pace.silent();
    else this.#pace.answered();
    return answer;
  }
}

/** What the agent can do about a result. */
export function answerOf<Data>({ data, error, response }: CallResult<Data>): Answer<Data> {
  const { status } = response;
  if (response.ok) {
    // A captive portal or a wrong address also answers 200.
    if (status !== 204 && (typeof data !== "object" || data === null))
      return { kind: "away", message: "the answer is not the control plane's", retryAfterSeconds: null };
    return { kind: "ok", value: data as Data, date: dateOf(response) };
  }
  const problem = asProblem(error);
  const message = problem ? `${problem.code}: ${problem.detail}` : `HTTP ${status}`;
  if (status === 401 || status === 403) return { kind: "unauthorized", message };
  if (status === 408 || status === 429 || status >= 500 || (status >= 300 && status < 400))
    return { kind: "away", message, retryAfterSeconds: retryAfterOf(response) };
  const fields = problem?.errors?.map((each) => `${each.field} ${each.message}`).join("; ");
  return {
    kind: "refused",
    status,
    code: problem?.code ?? "",
    message: fields ? `${message} (${fields})` : message,
  };
}

function isUsable(job: Partial<ClaimedJob>): boolean {
  return (
    typeof job.id === "string" &&
    Number.isSafeInteger(job.epoch) &&
    typeof job.lease_seconds === "number" &&
    job.lease_seconds > 0
  );
}

function dateOf(response: CallResult<never>["response"]): Date | null {
  const date = new Date(response.headers.get("date") ?? "");
  return Number.isNaN(date.getTime()) ? null : date;
}

function retryAfterOf(response: CallResult<never>["response"]): number | null {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}

/** fetch reports only "fetch failed"; what failed is in its causes. */
export function describeFailure(error: unknown, milliseconds: number): string {
  const texts: string[] = [];
  for (let each = error; each instanceof Error && texts.length < 5; each = each.cause) {
    if (each.name === "TimeoutError") return `no answer within ${Math.round(milliseconds / 1000)} s`;
    texts.push(each.message);
  }
  return [...new Set(texts)].filter((text) => text !== "").join(": ") || String(error);
}
