// The API in front of the model: claims wait here until there is a job, and observers are called here.

import type { Schemas } from "@kule/contract/schemas";
import { type ApiReply, problem } from "./api-link.ts";
import type { ControlPlaneModel } from "./control-plane.ts";
import type { Simulation } from "./simulation.ts";

type Parked = {
  readonly agent: string;
  readonly body: Schemas["ClaimRequest"];
  readonly reply: (answer: ApiReply) => void;
};

export class SimulatedApi {
  readonly #simulation: Simulation;
  readonly #model: ControlPlaneModel;
  readonly #parked = new Set<Parked>();
  #isRung = false;
  #cancelDue: (() => void) | null = null;

  constructor(simulation: Simulation, model: ControlPlaneModel) {
    this.#simulation = simulation;
    this.#model = model;
    model.onNews = () => this.#ring();
  }

  /** Answers now, or when there is something, or with nothing when the time it may wait is over. */
  claim(
    agent: string,
    body: Schemas["ClaimRequest"],
    reply: (answer: ApiReply) => void,
  ): (() => void) | undefined {
    const found = this.#look(agent, body);
    if (found !== null) {
      reply(found);
      return;
    }
    const waitSeconds = body.wait_seconds ?? 0;
    if (waitSeconds === 0) {
      reply({ status: 204, body: undefined });
      return;
    }
    const parked: Parked = { agent, body, reply };
    this.#parked.add(parked);
    const cancel = this.#simulation.clock.after(waitSeconds * 1000, () => {
      if (this.#parked.delete(parked)) reply({ status: 204, body: undefined });
    });
    this.#waitForDue();
    return () => {
      cancel();
      this.#parked.delete(parked);
    };
  }

  report(agent: string, jobId: string, body: Schemas["StepReport"]): ApiReply {
    const answer = this.#model.report(jobId, body);
    this.#simulation.counts.reports += 1;
    if (answer.status === 409) this.#simulation.counts.refusedReports += 1;
    if (answer.status === 200) this.#simulation.witness.reportAccepted(agent, jobId, body);
    return "body" in answer
      ? { status: answer.status, body: answer.body }
      : problem(answer.status, answer.code);
  }

  /** The process is gone, and with it every open connection. */
  dropConnections(): void {
    this.#parked.clear();
  }

  #look(agent: string, body: Schemas["ClaimRequest"]): ApiReply | null {
    const job = this.#model.claim(body);
    if (job === null) return null;
    this.#simulation.counts.claims += 1;
    this.#simulation.witness.jobClaimed(agent, body.claim_id, job);
    return { status: 200, body: { job } };
  }

  #ring(): void {
    if (this.#isRung || this.#parked.size === 0) return;
    this.#isRung = true;
    this.#simulation.clock.after(1, () => {
      this.#isRung = false;
      for (const parked of [...this.#parked]) {
        const found = this.#look(parked.agent, parked.body);
        if (found === null) continue;
        this.#parked.delete(parked);
        parked.reply(found);
      }
      this.#waitForDue();
    });
  }

  /** Backoffs and leases end without a notification. */
  #waitForDue(): void {
    this.#cancelDue?.();
    this.#cancelDue = null;
    const due = this.#model.nextDue();
    if (due === null || this.#parked.size === 0) return;
    const wait = Math.max(due - this.#simulation.clock.now(), 0) + RECHECK_MILLISECONDS;
    this.#cancelDue = this.#simulation.clock.after(wait, () => this.#ring());
  }
}

/** The real API checks every two seconds; this is the mean time until it does. */
const RECHECK_MILLISECONDS = 1_000;
