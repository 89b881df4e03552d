import { randomUUID } from "node:crypto";
import { type Runtime, systemRuntime } from "@kule/proxmox/runtime";

/** Time and chance as the agent sees them: the only place it gets them from. */
export type AgentRuntime = Runtime & {
  /** Milliseconds from a fixed point in the past; steps of the wall clock do not touch it. Leases are measured by it. */
  monotonic(): number;
  /** From 0 up to, not including, 1. */
  random(): number;
  uuid(): string;
};

export const agentRuntime: AgentRuntime = {
  ...systemRuntime,
  monotonic: () => performance.now(),
  random: () => Math.random(),
  uuid: () => randomUUID(),
};

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
