import { randomUUID } from "node:crypto";
import { type Runtime, systemRuntime, type Timers } from "@kule/proxmox/runtime";

/** The agent's only source of time and random numbers. */
export type AgentRuntime = Runtime &
  /** Leases are measured by the monotonic clock. */
  Timers & {
    /** From 0 up to, not including, 1. */
    random(): number;
    uuid(): string;
  };

export const agentRuntime: AgentRuntime = {
  ...systemRuntime,
  random: () => Math.random(),
  uuid: () => randomUUID(),
};

/** Does the work with a signal that ends it at the latest after the time, with a TimeoutError, or with the outer signal. */
export async function withinTime<T>(
  runtime: AgentRuntime,
  milliseconds: number,
  outer: AbortSignal | null,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const end = () => limit.abort(outer?.reason);
  if (outer?.aborted) end();
  outer?.addEventListener("abort", end, { once: true });
  const cancel = runtime.after(milliseconds, () =>
    limit.abort(new DOMException(`no end within ${milliseconds} ms`, "TimeoutError")),
  );
  try {
    return await work(limit.signal);
  } finally {
    cancel();
    outer?.removeEventListener("abort", end);
  }
}

/** Pauses unless the signal ends it first. True when the whole time has passed. */
export async function pausedFully(
  runtime: AgentRuntime,
  milliseconds: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return false;
  try {
    await runtime.pause(Math.max(milliseconds, 0), signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
