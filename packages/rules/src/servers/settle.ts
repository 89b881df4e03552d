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
  /** The wanted result of the ended job: a running server. */
  readonly wantsRunning: boolean;
  /** Usage records that it runs: a `server.started` without its `server.stopped`. */
  readonly runIsCounted: boolean;
  /** Usage records that it has a disk. */
  readonly diskIsCounted: boolean;
  /** Another job of it waits: the status is that one's. */
  readonly hasSuccessor: boolean;
  /** The job has begun what cannot be undone. */
  readonly isIrreversible: boolean;
  /** A rebuild has begun to destroy its disk and was interrupted, and no disk was observed since. */
  readonly diskIsBroken: boolean;
  /** The region shows a larger disk than is recorded. */
  readonly diskHasGrown: boolean;
};

/** How a job finally ended, and what was observed of the region. */
export type FinalOutcome = {
  readonly status: "succeeded" | "failed" | "cancelled";
  readonly power: PowerState | null;
  /** The error's, of a job that failed. */
  readonly code?: string | null;
  /** For the server's status_reason; the job keeps its own error. */
  readonly message: string;
};

/**
 * The effect of a job's end on its server. Everything here is written in the transaction that ends the job.
 */
export type Settlement = {
  readonly status: ServerStatus | "deleted";
  /** The server's status_reason; "keep" leaves it as it is. */
  readonly reason: { readonly code: string; readonly message: string } | null | "keep";
  readonly powerState: PowerState;
  /** The state for cancel-deletion from now on; null leaves it as it is. */
  readonly restoresTo: RestoresTo | null;
  /** Addresses go into quarantine, the VM number becomes a tombstone, the name is free. */
  readonly releasesAllocations: boolean;
  /** The password hash or sealed password is no longer needed. */
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
      // A password that was not set is useless: it would be unknown whether it is valid.
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
      // Open segments are divided here, and new ones begin in the new size. A grown disk stays grown, even if
      // the rest of the resize failed.
      const isDivided = outcome.status === "succeeded" || facts.diskHasGrown;
      return isDivided && facts.diskIsCounted
        ? { ...ended, usage: ["server.resized", ...ended.usage] }
        : ended;
    }
  }
}

const isBeingDeleted = (status: ServerStatus) => status === "pending_deletion" || status === "deleting";

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
    wipesSecret: !isBeingDeleted(facts.status),
    usage: facts.diskIsCounted ? runUsage(facts.runIsCounted, powerAfter(facts, outcome)) : [],
  };
}

/**
 * The VM exists as wanted. A server that was deleted in the meantime is still being deleted, but now has more
 * to destroy.
 */
function present(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const powerState = powerAfter(facts, outcome);
  const steady = powerState === "on" ? "running" : "stopped";
  return {
    ...unchanged(facts),
    status: isBeingDeleted(facts.status) ? facts.status : steady,
    reason: isBeingDeleted(facts.status) ? "keep" : null,
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
  if (isBeingDeleted(facts.status)) return seen;
  const code = outcome.status === "cancelled" ? "restore_cancelled" : "restore_failed";
  return { ...seen, status: "error", reason: { code, message: outcome.message } };
}

/**
 * What a job found instead of a VM that it could have worked on. A later scan that sees the VM clears
 * `vm_missing`.
 */
const unusable: ReadonlySet<string> = new Set(["vm_missing", "vm_incomplete"]);

/** In place of a reason of its own, for a job that was cancelled. */
const brokenDisk = "A rebuild has destroyed the server's disk and not made it anew";

/**
 * A job that leaves the server usable, however it ended: on or off, by the region's last report. A failed one
 * names its reason, and its work is not done. A rebuild that had failed before it is not retried after it, so
 * the password which that one was to set is no longer needed. Only where a rebuild has left the server
 * without a disk, and this job has failed too, it is as unusable as before, and that rebuild may be retried.
 */
function operated(facts: SettleFacts, outcome: FinalOutcome, failure: string): Settlement {
  const succeeded = outcome.status === "succeeded";
  const powerState = succeeded ? powerAfter(facts, outcome) : (outcome.power ?? facts.powerState);
  const seen = {
    ...unchanged(facts),
    ...observed(facts, { ...outcome, power: powerState }),
    isApplied: succeeded,
  };
  if (isBeingDeleted(facts.status) || facts.hasSuccessor) return seen;
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

/** A server whose disk is gone, or incomplete, cannot be used until the rebuild has succeeded. */
function rebuilt(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const isBroken = outcome.status !== "succeeded" && facts.isIrreversible;
  // It was switched off before it was destroyed; only what is seen to run does, and a VM that is gone is not seen.
  const power = isBroken ? (outcome.power ?? "off") : outcome.power;
  const ended = operated(facts, { ...outcome, power }, "rebuild_failed");
  if (!isBroken) return { ...ended, wipesSecret: true };
  if (isBeingDeleted(facts.status) || facts.hasSuccessor) return ended;
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

/**
 * The server is as it was, or as the region now reports it; its public addresses have a status of their own.
 */
function interfaceChanged(facts: SettleFacts, outcome: FinalOutcome): Settlement {
  const seen = { ...unchanged(facts), ...observed(facts, outcome) };
  if (isBeingDeleted(facts.status) || facts.status === "error") return seen;
  const reason =
    outcome.status === "succeeded" ? null : { code: "public_ip_failed", message: outcome.message };
  return { ...seen, status: steadyStatus(facts, seen.powerState), reason };
}

/** The status of a server without an open job, by its power; a queued job has a status of its own. */
function steadyStatus({ status, hasSuccessor }: SettleFacts, power: PowerState): ServerStatus {
  if (hasSuccessor || (status !== "running" && status !== "stopped")) return status;
  return power === "on" ? "running" : power === "off" ? "stopped" : status;
}

/**
 * What the region observed is true even if the job failed; a server that was never created is not counted as
 * running.
 */
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
