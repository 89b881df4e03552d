import type { Schemas } from "@kule/contract/schemas";
import { backoffMilliseconds } from "./backoff.ts";
import { type ControlPlane, Unanswered } from "./control-plane.ts";
import type { Logger } from "./log.ts";
import { type AgentRuntime, pausedFully } from "./runtime.ts";

const LONGEST_BACKOFF_MILLISECONDS = 30_000;
const REFUSED_PAUSE_MILLISECONDS = 60_000;

/** The token and the region file belong to different regions, or the token is no agent's. */
export class WrongRegion extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WrongRegion";
  }
}

/** What is wrong with using this token for this region, or null. */
export function tokenProblem(me: Schemas["Me"], region: string): string | null {
  if (me.actor !== "agent") return `the token is not an agent's but belongs to a ${me.actor}`;
  if (me.region !== region)
    return `the token is of region ${me.region ?? "none"}, the region file describes ${region}`;
  return null;
}

/**
 * Queries which region the token is bound to, until the control plane answers. Jobs of another region must
 * never be run here: their VM ids mean other machines. Resolves false when the agent is to stop, throws
 * WrongRegion.
 */
export async function confirmRegion(
  region: string,
  parts: { controlPlane: ControlPlane; runtime: AgentRuntime; log: Logger },
  stop: AbortSignal,
): Promise<boolean> {
  const { controlPlane, runtime, log } = parts;
  for (let failures = 0; !stop.aborted; failures++) {
    const answer = await controlPlane.me(stop).catch((error: unknown) => {
      if (stop.aborted) return null;
      throw error;
    });
    if (answer === null) return false;
    if (answer.kind === "ok") {
      const problem = tokenProblem(answer.value, region);
      if (problem !== null) throw new WrongRegion(problem);
      return true;
    }
    let pause = REFUSED_PAUSE_MILLISECONDS;
    if (answer.kind === "away") {
      pause = backoffMilliseconds(failures, LONGEST_BACKOFF_MILLISECONDS, runtime.random());
      log.warn({ reason: answer.message, tries: failures + 1 }, "the control plane does not answer");
    } else {
      log.error(
        { alarm: true, reason: answer.message, retry_seconds: pause / 1000 },
        "the control plane does not accept the agent's token: no jobs are taken. Give the agent a valid token and restart it",
      );
    }
    await pausedFully(runtime, pause, stop);
  }
  return false;
}

/** The same for who does not wait: throws Unanswered when the control plane does not answer now, or WrongRegion. */
export async function confirmRegionNow(
  region: string,
  controlPlane: ControlPlane,
  stop: AbortSignal,
): Promise<void> {
  const answer = await controlPlane.me(stop);
  if (answer.kind !== "ok") throw new Unanswered(answer.message);
  const problem = tokenProblem(answer.value, region);
  if (problem !== null) throw new WrongRegion(problem);
}
