// The rounds in which all machines of the region's load balancers are asked for their status. Only an answer of the control
// plane names machines, so none is asked while it is away.

import type { Schemas } from "@kule/contract/schemas";
import type { ControlPlane } from "./control-plane.ts";
import { type Reading, reportsOf } from "./load-balancer-reports.ts";
import type { Logger } from "./log.ts";
import { type AgentRuntime, pausedFully, withinTime } from "./runtime.ts";

export type MachineToAsk = Schemas["LoadBalancerReportAck"]["machines"][number];
/** `not asked`: the hypervisor itself does not answer, which says nothing about the machine. */
export type MachineAnswer = Schemas["LoadBalancerMachineStatus"] | "silent" | "not asked";

export type LoadBalancerLoopOptions = {
  readonly controlPlane: Pick<ControlPlane, "loadBalancers">;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly agentVersion: string;
  readonly agentName: string;
  /** Throws only for the signal. */
  readonly ask: (machine: MachineToAsk, signal: AbortSignal) => Promise<MachineAnswer>;
};

/** When the control plane has not said how often, or not understandably. */
const ROUND_SECONDS = 30;
const LEAST_ROUND_SECONDS = 5;
const MOST_ROUND_SECONDS = 3_600;
/** The first round is soon, but not of all agents of an installation at the same moment. */
const FIRST_WITHIN_MILLISECONDS = 3_000;
/** Agents that began together drift apart by up to this share. */
const JITTER = 0.1;
const MOST_AT_ONCE = 4;
const ASK_MILLISECONDS = 10_000;
/** Pages of a round; more machines than any region has. */
const MOST_PAGES = 1_000;

/** Asks all machines again and again, until the signal. Logs what changes, not what stays. */
export async function runLoadBalancerLoop(
  options: LoadBalancerLoopOptions,
  stop: AbortSignal,
): Promise<void> {
  const { runtime, log } = options;
  const loop = new LoadBalancerLoop(options);
  await pausedFully(runtime, runtime.random() * FIRST_WITHIN_MILLISECONDS, stop);
  while (!stop.aborted) {
    const startedAt = runtime.monotonic();
    let nextSeconds = ROUND_SECONDS;
    try {
      nextSeconds = await loop.round(stop);
    } catch (error) {
      if (stop.aborted) return;
      // Jobs and health must continue after any error.
      log.error({ err: error }, "a round of the load balancers was aborted");
    }
    const jittered = nextSeconds * 1000 * (1 - JITTER + 2 * JITTER * runtime.random());
    // Even where a round takes longer than its interval there is a pause between two.
    await pausedFully(runtime, Math.max(500, jittered - (runtime.monotonic() - startedAt)), stop);
  }
}

class LoadBalancerLoop {
  readonly #options: LoadBalancerLoopOptions;
  #silentBefore = 0;

  constructor(options: LoadBalancerLoopOptions) {
    this.#options = options;
  }

  /** Answers after how many seconds from its beginning the next may begin. */
  async round(stop: AbortSignal): Promise<number> {
    let readings: readonly Reading[] = [];
    let after: string | null = null;
    let seconds = ROUND_SECONDS;
    let silent = 0;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const sent = await this.#send(readings, { after }, stop);
      // What was read is told by the next round, which reads it again.
      if (sent === null) return seconds;
      seconds = secondsOf(sent.ack);
      const asked = await this.#askAll(sent.ack.machines, stop);
      silent += asked.filter(({ seen }) => seen === null).length;
      readings = [...sent.left, ...asked];
      after = sent.ack.next;
      if (after === null) break;
    }
    while (readings.length > 0) {
      const sent = await this.#send(readings, {}, stop);
      if (sent === null) return seconds;
      readings = sent.left;
    }
    this.#tell(silent);
    return seconds;
  }

  async #send(
    readings: readonly Reading[],
    more: { readonly after?: string | null },
    stop: AbortSignal,
  ): Promise<{ readonly ack: Schemas["LoadBalancerReportAck"]; readonly left: readonly Reading[] } | null> {
    const { controlPlane, runtime, agentVersion, agentName, log } = this.#options;
    const { reports, left } = reportsOf(readings, runtime.monotonic());
    const body = { agent_version: agentVersion, agent_name: agentName, reports, ...more };
    const answer = await controlPlane.loadBalancers(body, stop);
    if (answer.kind === "ok") return { ack: answer.value, left };
    log.debug({ reason: answer.message }, "the status of the load balancers is not delivered");
    return null;
  }

  /** At most a few at once: each is several calls of the hypervisor. */
  async #askAll(machines: readonly MachineToAsk[], stop: AbortSignal): Promise<Reading[]> {
    const waiting = [...machines];
    const readings: Reading[] = [];
    const work = async () => {
      for (let machine = waiting.shift(); machine !== undefined; machine = waiting.shift()) {
        const reading = await this.#askOne(machine, stop);
        if (reading !== null) readings.push(reading);
      }
    };
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, work));
    return readings;
  }

  async #askOne(machine: MachineToAsk, stop: AbortSignal): Promise<Reading | null> {
    const { runtime, ask } = this.#options;
    const askedAt = runtime.monotonic();
    let answer: MachineAnswer;
    try {
      answer = await withinTime(runtime, ASK_MILLISECONDS, stop, (signal) => ask(machine, signal));
    } catch (error) {
      if (stop.aborted) throw stop.reason;
      if (!(error instanceof DOMException) || error.name !== "TimeoutError") throw error;
      answer = "silent";
    }
    if (answer === "not asked") return null;
    return {
      machine,
      askedAt,
      seen: answer === "silent" ? null : { at: runtime.monotonic(), status: answer },
    };
  }

  #tell(silent: number): void {
    const { log } = this.#options;
    if (silent !== this.#silentBefore) {
      if (silent > 0) log.warn({ machines: silent }, "machines of load balancers do not answer");
      else log.info("all machines of load balancers answer again");
    }
    this.#silentBefore = silent;
  }
}

function secondsOf({ round_seconds: seconds }: Schemas["LoadBalancerReportAck"]): number {
  return Math.min(MOST_ROUND_SECONDS, Math.max(LEAST_ROUND_SECONDS, seconds));
}
