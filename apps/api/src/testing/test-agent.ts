import { randomUUID } from "node:crypto";
import type { Schemas, ServerPayload } from "@kule/contract/schemas";
import { jobHandlers } from "../products/job-handlers.ts";
import type { Answer, ApiCaller } from "./api-caller.ts";

/** A job of a server, which most are. */
export type ClaimedJob = Omit<AnyJob, "payload"> & { readonly payload: ServerPayload };
type AnyJob = Schemas["ClaimedJob"]["job"];
type Ended = Pick<AnyJob, "id" | "epoch"> & { readonly payload: Schemas["JobPayload"] };
export type Outcome = NonNullable<Schemas["StepReport"]["outcome"]>;

/** Whatever the API has jobs of. */
export const capabilities = Object.values(jobHandlers).flatMap(({ kinds }) => kinds);

/** A region agent reduced to its three calls: it claims and reports, and does nothing in between. */
export class TestAgent {
  readonly api: ApiCaller;
  readonly #seqs = new Map<string, number>();

  constructor(api: ApiCaller) {
    this.api = api;
  }

  claimRaw(more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    return this.api.post("/agent/jobs/claim", {
      claim_id: randomUUID(),
      agent_version: "0.1.0",
      capabilities,
      ...more,
    });
  }

  /** The next job, or null when there is nothing to do. */
  async claim(more: Readonly<Record<string, unknown>> = {}): Promise<ClaimedJob | null> {
    const answer = await this.claimRaw(more);
    if (answer.status === 204) return null;
    if (answer.status !== 200)
      throw new Error(`claim answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.job as ClaimedJob;
  }

  /** The next job, which must be of that kind. */
  async take<Kind extends Schemas["JobKind"]>(
    kind: Kind,
  ): Promise<Omit<AnyJob, "payload"> & { payload: Extract<Schemas["JobPayload"], { kind: Kind }> }> {
    const job = await this.claim();
    if (job?.kind !== kind) throw new Error(`expected ${kind}, claimed ${job?.kind ?? "nothing"}`);
    return job as Omit<AnyJob, "payload"> & { payload: Extract<Schemas["JobPayload"], { kind: Kind }> };
  }

  /** Reports under the job's epoch with the next sequence number. */
  report(job: Pick<AnyJob, "id" | "epoch">, more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const key = `${job.id}/${job.epoch}`;
    const seq = (this.#seqs.get(key) ?? 0) + 1;
    this.#seqs.set(key, seq);
    return this.reportAs(job, seq, more);
  }

  reportAs(
    job: Pick<AnyJob, "id" | "epoch">,
    seq: number,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Answer> {
    return this.api.post(`/agent/jobs/${job.id}/steps`, { epoch: job.epoch, seq, ...more });
  }

  async end(job: Ended, outcome: Outcome): Promise<Answer> {
    const answer = await this.report(job, {
      phase: "verify",
      outcome: withObservedResult(job.payload, outcome),
    });
    if (answer.status !== 200)
      throw new Error(`end answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  succeed(job: Ended, power: "on" | "off" = "on"): Promise<Answer> {
    return this.end(job, { status: "succeeded", observed: { power_state: power } });
  }

  fail(job: Ended, code = "template_missing"): Promise<Answer> {
    return this.end(job, {
      status: "failed",
      error: { code, message: "It did not work", internal: "UPID:… exit 255", retryable: false },
    });
  }

  /** Claims and ends with success whatever there is. */
  async work(): Promise<ClaimedJob[]> {
    const done: ClaimedJob[] = [];
    for (;;) {
      const job = await this.claim();
      if (job === null) return done;
      const power = powerAfter(job.payload);
      // A job that changes no power observes none here, and leaves it as it was.
      if (power === null) await this.end(job, { status: "succeeded" });
      else await this.succeed(job, power);
      done.push(job);
    }
  }
}

/** The outcome that an agent reports when the region has applied a payload. */
export function withObservedResult(payload: Schemas["JobPayload"], outcome: Outcome): Outcome {
  if (payload.kind === "NetworkApply" && outcome.status === "succeeded")
    return { ...outcome, observed: { network_generation: payload.generation, ...outcome.observed } };
  if (payload.kind === "LoadBalancerApply" && outcome.status === "succeeded")
    return {
      ...outcome,
      observed: {
        load_balancer: {
          generation: payload.generation,
          machines: payload.machines.map(({ slot }) => ({
            slot,
            outcome: "applied",
            generation: payload.generation,
            role: slot === 1 ? "active" : "standby",
          })),
        },
        ...outcome.observed,
      },
    };
  const { filter } = payload as { readonly filter?: { readonly id: string } };
  if (outcome.status !== "succeeded" || filter === undefined) return outcome;
  return { ...outcome, observed: { ...outcome.observed, filter: filter.id } };
}

/** The power of a VM after a job that succeeded. */
function powerAfter(payload: Schemas["JobPayload"]): "on" | "off" | null {
  switch (payload.kind) {
    case "ServerCreate":
    case "ServerRestore":
      return payload.start ? "on" : "off";
    case "ServerPower":
      return payload.action === "shutdown" || payload.action === "stop" ? "off" : "on";
    case "PublicIpAttach":
    case "PublicIpDetach":
      return "on";
    case "ServerRebuild":
      return "on";
    case "ServerPasswordReset":
    case "ServerUpdate":
    case "ServerReconcile":
    case "FirewallApply":
    case "NetworkApply":
    case "LoadBalancerApply":
      return null;
    case "ServerResize":
      return payload.run ? "on" : "off";
    default:
      return "off";
  }
}
