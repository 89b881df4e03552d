import type { RestoresTo, ServerStatus } from "./lifecycle.ts";

export type ServerJobKind =
  | "ServerCreate"
  | "ServerAdopt"
  | "ServerStop"
  | "ServerRestore"
  | "ServerDestroy"
  | "ServerPower"
  | "ServerResize"
  | "PublicIpAttach"
  | "PublicIpDetach"
  | "ServerRebuild"
  | "ServerPasswordReset"
  | "ServerUpdate"
  | "ServerReconcile"
  | "FirewallApply";
export type PowerState = "on" | "off" | "unknown";
export type UsageKind =
  | "server.started"
  | "server.stopped"
  | "server.resized"
  | "server.purge_scheduled"
  | "server.purged"
  | "disk.allocated"
  | "disk.released";

/** A server as it is when one of its jobs ends. */
export type SettleFacts = {
  readonly status: ServerStatus;
  readonly powerState: PowerState;
  /** What the ended job was to leave behind: a server that runs. */
  readonly wantsRunning: boolean;
  /** Usage says that it runs: a `server.started` without its `server.stopped`. */
  readonly runIsCounted: boolean;
  /** Usage says that it has a disk. */
  readonly diskIsCounted: boolean;
  /** Another job of it waits: the status is that one's. */
  readonly hasSuccessor: boolean;
  /** The job has begun what cannot be undone. */
  readonly isIrreversible: boolean;
  /** A rebuild has begun to destroy its disk and broken off, and nothing has shown since that there is one. */
  readonly diskIsBroken: boolean;
  /** The region shows a larger disk than is recorded. */
  readonly diskHasGrown: boolean;
};

/** How a job ended for good, and what the region read back. */
export type FinalOutcome = {
  readonly status: "succeeded" | "failed" | "cancelled";
  readonly power: PowerState | null;
  /** The error's, of a job that failed. */
  readonly code?: string | null;
  /** For the server's status_reason; the job keeps its own error. */
  readonly message: string;
};

/** What the end of a job does to its server. Everything here is written in the transaction that ends the job. */
export type Settlement = {
  readonly status: ServerStatus | "deleted";
  /** The server's status_reason; "keep" leaves it as it is. */
  readonly reason: { readonly code: string; readonly message: string } | null | "keep";
  readonly powerState: PowerState;
  /** What cancel-deletion leads to from now on; null leaves it as it is. */
  readonly restoresTo: RestoresTo | null;
  /** Addresses go into quarantine, the VM number becomes a tombstone, the name is free. */
  readonly releasesAllocations: boolean;
  /** The password hash or sealed password is of no more use. */
  readonly wipesSecret: boolean;
  /** The region has what is wanted. */
  readonly isApplied: boolean;
  readonly usage: readonly UsageKind[];
};

/** Decides what the end of a job means for its server. The server may have moved on while the job ran. */
export function settleServer(kind: ServerJobKind, facts: SettleFacts, outcome: FinalOutcome): Settlement {
  switch (kind) {
    case "ServerCreate":
      return outcome.status === "succeeded" ? created(facts, outcome) : notCreated(facts, outcome);
    case "ServerAdopt":
      return outcome.status === "succeeded" ? created(facts, outcome) : notAdopted(facts, outcome);
    case "ServerStop":
      return stopEnded(facts, outcome);
    case "ServerRestore":
      return outcome.status === "succeeded" ? restored(facts, outcome) : notRestored(facts, outcome);
    case "ServerDestroy":
      return outcome.status === "succeeded" ? destroyed(facts) : notDestroyed(facts, outcome);
    case "PublicIpAttach":
    case "PublicIpDetach":
      return interfaceChanged(facts, outcome);
    case "ServerPower":
      return operated(facts, outcome, "power_failed");
    case "ServerRebuild":
      return rebuilt(facts, outcome);
    case "ServerPasswordReset":
      // The password is of no use when it was not set: nobody would know whether it holds.
      return { ...operated(facts, outcome, "password_reset_failed"), wipesSecret: true };
    case "ServerUpdate":
      return operated(facts, outcome, "rename_failed");
    case "FirewallApply":
      // A rebuild that had failed before it may be tried again after it.
      return { ...operated(facts, outcome, "firewall_failed"), wipesSecret: false };
    case "ServerReconcile":
      // The same: it is about what is around the disk.
      return { ...operated(facts, outcome, "reconcile_failed"), wipesSecret: false };
    case "ServerResize": {
      const ended = operated(facts, outcome, "resize_failed");
      // What is open is divided here, and what begins now begins in the new size.
      // A disk that has grown stays so, even if nothing else came of the resize.
      const isDivided = outcome.status === "succeeded" || facts.diskHasGrown;
      return isDivided && facts.diskIsCounted
        ? { ...ended, usage: ["server.resized", ...ended.usage] }
        : ended;
    }
  }
}

const onItsWayOut = (status: ServerStatus) => status === "pending_deletion" || status === "deleting";

function created(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  return {
    ...present(facts, outcome),
    wipesSecret: true,
    usage: [
      ...(facts.diskIsCounted ? [] : (["disk.allocated"] as const)),
      ...runUsage(facts.runIsCounted, powerAfter(facts, outcome)),
    ],
  };
}

function restored(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  return {
    ...present(facts, outcome),
    wipesSecret: !onItsWayOut(facts.status),
    usage: facts.diskIsCounted ? runUsage(facts.runIsCounted, powerAfter(facts, outcome)) : [],
  };
}

/** The VM is there as wanted. A server that was deleted meanwhile stays on its way out, but now has more to lose. */
function present(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const powerState = powerAfter(facts, outcome);
  const steady = powerState === "on" ? "running" : "stopped";
  return {
    ...unchanged(facts),
    status: onItsWayOut(facts.status) ? facts.status : steady,
    reason: onItsWayOut(facts.status) ? "keep" : null,
    powerState,
    restoresTo: facts.status === "pending_deletion" ? steady : null,
    isApplied: true,
  };
}

function powerAfter(facts: SettleFacts, outcome: FinalOutcome): PowerState {
  if (outcome.power === "on" || outcome.power === "off") return outcome.power;
  return facts.wantsRunning ? "on" : "off";
}

function notCreated(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  if (facts.status !== "creating")
    return { ...unchanged(facts), powerState: outcome.power ?? facts.powerState };
  const code = outcome.status === "cancelled" ? "create_cancelled" : "create_failed";
  return {
    ...unchanged(facts),
    status: "error",
    reason: { code, message: outcome.message },
    powerState: outcome.power ?? facts.powerState,
  };
}

/** Nothing was changed in the region; the server can be tried again, or deleted without touching the VM. */
function notAdopted(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const ended = notCreated(facts, { ...outcome, power: null });
  if (ended.reason === "keep" || ended.reason === null) return ended;
  const code = outcome.status === "cancelled" ? "import_cancelled" : "import_failed";
  return { ...ended, reason: { code, message: outcome.message } };
}

function notRestored(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const seen = { ...unchanged(facts), ...observed(facts, outcome) };
  if (onItsWayOut(facts.status)) return seen;
  const code = outcome.status === "cancelled" ? "restore_cancelled" : "restore_failed";
  return { ...seen, status: "error", reason: { code, message: outcome.message } };
}

/** What a job found instead of a VM that it could have worked on. A later look that sees the VM takes `vm_missing` back. */
const unusable: ReadonlySet<string> = new Set(["vm_missing", "vm_incomplete"]);

/** In place of a reason of its own, of a job that was given up. */
const brokenDisk = "A rebuild has destroyed the server's disk and not made it anew";

/**
 * A job that left the server where it can be used, however it ended: on or off, as the region last said. One that
 * failed says why, and what it was to do is not done. A rebuild that had failed before it is not tried again after it,
 * so the password which that one was to set is of no more use. Only where a rebuild has left the server without a disk,
 * and nothing has come of the job either, it is of as little use as before, and that rebuild may be tried again.
 */
function operated(facts: SettleFacts, outcome: FinalOutcome, failure: string): Settlement {
  const succeeded = outcome.status === "succeeded";
  const powerState = succeeded ? powerAfter(facts, outcome) : (outcome.power ?? facts.powerState);
  const seen = {
    ...unchanged(facts),
    ...observed(facts, { ...outcome, power: powerState }),
    isApplied: succeeded,
  };
  if (onItsWayOut(facts.status) || facts.hasSuccessor) return seen;
  const { status, message, code = null } = outcome;
  const steady = powerState === "on" ? "running" : powerState === "off" ? "stopped" : "error";
  const isOpen = facts.diskIsBroken && !succeeded;
  const ended = { ...seen, wipesSecret: !isOpen };
  if (status === "failed" && unusable.has(code ?? ""))
    return { ...ended, status: "error", reason: { code: code === "vm_missing" ? code : failure, message } };
  if (isOpen && powerState !== "on") {
    const reason =
      status === "failed" ? { code: failure, message } : { code: "rebuild_failed", message: brokenDisk };
    return { ...ended, status: "error", reason };
  }
  return { ...ended, status: steady, reason: status === "failed" ? { code: failure, message } : null };
}

/** A server whose disk is gone, or half made, is of no use until the job that does it has succeeded. */
function rebuilt(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const isBroken = outcome.status !== "succeeded" && facts.isIrreversible;
  // It was switched off before it was destroyed; only what is seen to run does, and a VM that is gone is not seen.
  const power = isBroken ? (outcome.power ?? "off") : outcome.power;
  const ended = operated(facts, { ...outcome, power }, "rebuild_failed");
  if (!isBroken) return { ...ended, wipesSecret: true };
  if (onItsWayOut(facts.status) || facts.hasSuccessor) return ended;
  return {
    ...ended,
    wipesSecret: false,
    status: "error",
    reason: { code: "rebuild_failed", message: outcome.message },
  };
}

function stopEnded(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const power = outcome.status === "succeeded" ? "off" : outcome.power;
  const seen = { ...unchanged(facts), ...observed(facts, { ...outcome, power }) };
  if (facts.status !== "pending_deletion" || outcome.status === "cancelled") return seen;
  if (outcome.status === "succeeded") return { ...seen, reason: null };
  return { ...seen, reason: { code: "stop_failed", message: outcome.message } };
}

function destroyed(facts: SettleFacts): Settlement {
  return {
    ...unchanged(facts),
    status: "deleted",
    reason: null,
    powerState: "off",
    releasesAllocations: true,
    wipesSecret: true,
    isApplied: true,
    usage: [
      ...runUsage(facts.runIsCounted, "off"),
      ...(facts.diskIsCounted ? (["disk.released"] as const) : []),
      "server.purged",
    ],
  };
}

function notDestroyed(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  return {
    ...unchanged(facts),
    ...observed(facts, outcome),
    reason: { code: "destroy_failed", message: outcome.message },
  };
}

/** The server is as it was, or as the region now shows it; whether its public addresses are, they say themselves. */
function interfaceChanged(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const seen = { ...unchanged(facts), ...observed(facts, outcome) };
  if (onItsWayOut(facts.status) || facts.status === "error") return seen;
  const reason =
    outcome.status === "succeeded" ? null : { code: "public_ip_failed", message: outcome.message };
  return { ...seen, status: steadyStatus(facts, seen.powerState), reason };
}

/** What a server that nobody is working on is by its power; a job that is about to be run has its own word for it. */
function steadyStatus({ status, hasSuccessor }: SettleFacts, power: PowerState): ServerStatus {
  if (hasSuccessor || (status !== "running" && status !== "stopped")) return status;
  return power === "on" ? "running" : power === "off" ? "stopped" : status;
}

/** What the region saw is true even if the job failed; a server that was never made is not counted as running. */
function observed(facts: SettleFacts, outcome: FinalOutcome): Pick<Settlement, "powerState" | "usage"> {
  const powerState = outcome.power ?? facts.powerState;
  return { powerState, usage: facts.diskIsCounted ? runUsage(facts.runIsCounted, powerState) : [] };
}

function runUsage(isCounted: boolean, power: PowerState): UsageKind[] {
  if (power === "on" && !isCounted) return ["server.started"];
  if (power === "off" && isCounted) return ["server.stopped"];
  return [];
}

function unchanged(facts: SettleFacts): Settlement {
  return {
    status: facts.status,
    reason: "keep",
    powerState: facts.powerState,
    restoresTo: null,
    releasesAllocations: false,
    wipesSecret: false,
    isApplied: false,
    usage: [],
  };
}
