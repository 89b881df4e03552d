import type { ServerStatus } from "../servers/lifecycle.ts";
import type { PowerState } from "../servers/settle.ts";

/** A server whose VM was seen while no job of it was open. */
export type FollowFacts = {
  readonly status: ServerStatus;
  /** The code of its status_reason. */
  readonly reasonCode: string | null;
  readonly powerState: PowerState;
  /** The observed power; "gone" when no guest has its number any more. */
  readonly seen: "on" | "off" | "gone";
  /** Usage records that it runs. */
  readonly runIsCounted: boolean;
  /** Usage records that it has a disk: its VM was once created. */
  readonly diskIsCounted: boolean;
};

export type Followed = {
  readonly status: ServerStatus;
  readonly powerState: PowerState;
  /** The server's status_reason; "keep" leaves it as it is. */
  readonly reason: { readonly code: string; readonly message: string } | null | "keep";
  readonly usage: readonly ("server.started" | "server.stopped")[];
  /** It runs although it is marked for removal: a job must stop it again. */
  readonly stopsAgain: boolean;
};

export const missingReason = {
  code: "vm_missing",
  message: "The region no longer has the server's virtual machine",
};

/**
 * How a server changes when the region reports this of it. Nothing is ever released by this: a VM that is
 * gone leaves its server in `error` with all its allocations, and when it returns the server leaves `error`.
 */
export function followPower(facts: FollowFacts): Followed {
  const powerState = facts.seen === "gone" ? "unknown" : facts.seen;
  return {
    ...statusOf(facts),
    powerState,
    usage: facts.diskIsCounted ? usageOf(facts) : [],
    // After a failed stop an operator is needed: another job each minute would not help.
    stopsAgain:
      facts.status === "pending_deletion" && facts.seen === "on" && facts.reasonCode !== "stop_failed",
  };
}

function statusOf({ status, reasonCode, seen }: FollowFacts): Pick<Followed, "status" | "reason"> {
  const steady = seen === "on" ? "running" : "stopped";
  const wasMissing = status === "error" && reasonCode === missingReason.code;
  if (seen === "gone")
    return status === "running" || status === "stopped"
      ? { status: "error", reason: missingReason }
      : { status, reason: "keep" };
  if (wasMissing) return { status: steady, reason: null };
  if (status === "running" || status === "stopped") return { status: steady, reason: "keep" };
  return { status, reason: "keep" };
}

function usageOf({ seen, runIsCounted }: FollowFacts): Followed["usage"] {
  if (seen === "on") return runIsCounted ? [] : ["server.started"];
  return runIsCounted ? ["server.stopped"] : [];
}
