import type { ServerStatus } from "../servers/lifecycle.ts";
import type { PowerState } from "../servers/settle.ts";

/** A server whose VM was seen while no job of it was open. */
export type FollowFacts = {
  readonly status: ServerStatus;
  /** The code of its status_reason. */
  readonly reasonCode: string | null;
  readonly powerState: PowerState;
  /** What the region shows; "gone" when no guest has its number any more. */
  readonly seen: "on" | "off" | "gone";
  /** Usage says that it runs. */
  readonly runIsCounted: boolean;
  /** Usage says that it has a disk: its VM was once made. */
  readonly diskIsCounted: boolean;
};

export type Followed = {
  readonly status: ServerStatus;
  readonly powerState: PowerState;
  /** The server's status_reason; "keep" leaves it as it is. */
  readonly reason: { readonly code: string; readonly message: string } | null | "keep";
  readonly usage: readonly ("server.started" | "server.stopped")[];
  /** It runs although it is marked for removal: it is to be stopped again, by a job. */
  readonly stopsAgain: boolean;
};

export const missingReason = {
  code: "vm_missing",
  message: "The region no longer has the server's virtual machine",
};

/**
 * What a server becomes when the region shows it as it is. Nothing is ever removed by this: a VM that is gone leaves its
 * server in `error` with all it holds, and one that comes back takes it out of there.
 */
export function followPower(facts: FollowFacts): Followed {
  const powerState = facts.seen === "gone" ? "unknown" : facts.seen;
  return {
    ...statusOf(facts),
    powerState,
    usage: facts.diskIsCounted ? usageOf(facts) : [],
    // Once a stop has failed an operator is needed: another job each minute would help nobody.
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
