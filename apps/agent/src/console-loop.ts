// Claims console sessions in parallel with the jobs: a person waits at a screen, so they never wait for a
// job's place.

import type { ProxmoxConsoles } from "@kule/proxmox/console";
import { backoffMilliseconds } from "./backoff.ts";
import { runConsoleSession } from "./console-session.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Logger } from "./log.ts";
import { type AgentRuntime, pausedFully } from "./runtime.ts";

export type ConsoleLoopOptions = {
  readonly controlPlane: ControlPlane;
  readonly consoles: Pick<ProxmoxConsoles, "open">;
  readonly region: string;
  readonly controlPlaneUrl: string;
  readonly token: string;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly agentVersion: string;
  readonly agentName: string;
};

const WAIT_SECONDS = 20;
const LONGEST_BACKOFF_MILLISECONDS = 10_000;
/** An older control plane has no consoles, and a token may have no right to them. */
const REFUSED_PAUSE_MILLISECONDS = 60_000;
const SHORTEST_EMPTY_CLAIM_MILLISECONDS = 500;
/** Each holds two sockets and some buffers. */
const MOST_SESSIONS = 64;

/** Takes sessions until the signal, then ends those that are open and waits for them. */
export async function runConsoleLoop(options: ConsoleLoopOptions, stop: AbortSignal): Promise<void> {
  const { controlPlane, runtime, log } = options;
  const sessions = new Set<Promise<void>>();
  let failures = 0;
  while (!stop.aborted) {
    if (sessions.size >= MOST_SESSIONS) {
      await Promise.race(sessions);
      continue;
    }
    const askedAt = runtime.monotonic();
    const body = {
      claim_id: runtime.uuid(),
      agent_version: options.agentVersion,
      agent_name: options.agentName,
      wait_seconds: WAIT_SECONDS,
    };
    const answer = await controlPlane.claimConsole(body, stop).catch((error: unknown) => {
      if (stop.aborted) return null;
      throw error;
    });
    if (answer === null) break;
    if (answer.kind === "ok") {
      failures = 0;
      if (answer.value !== null) {
        const session = runConsoleSession(answer.value, options, stop).finally(() =>
          sessions.delete(session),
        );
        sessions.add(session);
      } else {
        const rest = SHORTEST_EMPTY_CLAIM_MILLISECONDS - (runtime.monotonic() - askedAt);
        if (rest > 0) await pausedFully(runtime, rest, stop);
      }
      continue;
    }
    if (answer.kind !== "away")
      log.warn({ reason: answer.message }, "the control plane cannot be polled for consoles");
    const pause =
      answer.kind === "away"
        ? backoffMilliseconds(failures, LONGEST_BACKOFF_MILLISECONDS, runtime.random())
        : REFUSED_PAUSE_MILLISECONDS;
    failures += 1;
    await pausedFully(runtime, pause, stop);
  }
  await Promise.all(sessions);
}
