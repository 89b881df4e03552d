// Proxmox answers 500 for nearly everything: an absent VM, a lock, a timeout, a full disk. Only its text
// shows what an error means, which is why this file, alone in the repository, recognises errors by text. The
// same texts are the exit statuses of failed tasks.

/**
 * What a caller may do next. `retryable`: nothing was changed, the same call may work later. `unknown`: the
 * change may have happened; observe before doing anything else. `permanent`: the same call will fail again
 * until something is changed.
 */
export type ErrorOutcome = "retryable" | "unknown" | "permanent";

export type ErrorFacts = {
  /** "POST /nodes/pve1/qemu/9000/clone", or the task's type and id. */
  readonly call: string;
  /** HTTP status; null for a task and for a connection that gave none. */
  readonly status: number | null;
  /** Proxmox' own text, without secrets. */
  readonly text: string;
  readonly outcome: ErrorOutcome;
  /** What an operator does about it, where that is known. */
  readonly fix: string | null;
  readonly task?: { readonly upid: string; readonly logTail: readonly string[] };
};

export class ProxmoxError extends Error {
  readonly facts: ErrorFacts;
  constructor(facts: ErrorFacts, options?: ErrorOptions) {
    super(`${facts.call}: ${facts.status === null ? "" : `${facts.status} `}${facts.text}`, options);
    this.name = new.target.name;
    this.facts = facts;
  }
  get outcome(): ErrorOutcome {
    return this.facts.outcome;
  }
}

/** Not on the requested node. It is gone only when no node has it. */
export class ProxmoxNotFound extends ProxmoxError {}
/** The config carries a lock: clone, migrate, backup ... */
export class ProxmoxLocked extends ProxmoxError {}
/** A file lock or a storage lock is held at this moment. */
export class ProxmoxBusy extends ProxmoxError {}
/** The digest we read is not the current one. */
export class ProxmoxConflict extends ProxmoxError {}
/**
 * There is no ipset of that name: for its deletion that is success, for all others the firewall has changed.
 */
export class ProxmoxNoSuchSet extends ProxmoxConflict {}
/** The VMID is taken; the error does not show by which VM. */
export class ProxmoxExists extends ProxmoxError {}
/** It is already as the call wanted it, or cannot be otherwise. */
export class ProxmoxAlready extends ProxmoxError {}
export class ProxmoxQuorum extends ProxmoxError {}
export class ProxmoxAgentUnavailable extends ProxmoxError {}
/** The guest was asked to shut down and has not done so in time. */
export class ProxmoxGuestIgnores extends ProxmoxError {}
export class ProxmoxCapacity extends ProxmoxError {}
export class ProxmoxWorkerUnavailable extends ProxmoxError {}
export class ProxmoxProtected extends ProxmoxError {}
export class ProxmoxRunning extends ProxmoxError {}
export class ProxmoxUnauthorized extends ProxmoxError {}
export class ProxmoxForbidden extends ProxmoxError {}
export class ProxmoxBadRequest extends ProxmoxError {}
export class ProxmoxUnsupported extends ProxmoxError {}
/** Proxmox, or the node behind it, could not be reached. */
export class ProxmoxNodeUnreachable extends ProxmoxError {}
/** The server's certificate is not the one the region file names. Nothing was sent. */
export class ProxmoxUntrusted extends ProxmoxError {}
/** A changing call of a client that only reads. Nothing was sent. */
export class ProxmoxReadOnly extends ProxmoxError {}
/** A changing call whose answer never arrived. */
export class ProxmoxUnknownOutcome extends ProxmoxError {}
/** The task is not known any more, or died without a result. */
export class ProxmoxTaskLost extends ProxmoxError {}
/** A failure whose text is in no row of the table. */
export class ProxmoxFailure extends ProxmoxError {}
/** The VM with this VMID is not the one that the caller means. Nothing was changed. */
export class ProxmoxNotOurs extends ProxmoxError {}

type ErrorClass = new (facts: ErrorFacts, options?: ErrorOptions) => ProxmoxError;
type Row = {
  readonly pattern: RegExp;
  readonly class: ErrorClass;
  readonly outcome: ErrorOutcome;
  readonly fix: string | null;
};
const row = (
  pattern: RegExp,
  errorClass: ErrorClass,
  outcome: ErrorOutcome,
  fix: string | null = null,
): Row => ({
  pattern,
  class: errorClass,
  outcome,
  fix,
});

/** First match wins. Every row has a test that quotes the text as qemu-server, pve-common or pve-storage has it. */
export const ERROR_TEXTS: readonly Row[] = [
  row(
    /unable to create VM \d{1,9}[ :-]{1,3}config file already exists|\b(?:VM|CT) \d{1,9} already exists/,
    ProxmoxExists,
    "permanent",
  ),
  // The same for a VM on another node: the call checks its own node only, and its task fails because of the
  // other.
  row(
    /atomic file '\/etc\/pve\/nodes\/[^'/]{1,63}\/qemu-server\/\d{1,9}\.conf' failed: File exists/,
    ProxmoxExists,
    "permanent",
  ),
  row(
    /Configuration file '[^']*' does not exist|unable to find configuration file for VM \d+/,
    ProxmoxNotFound,
    "permanent",
  ),
  row(/no such task|unable to parse worker upid/i, ProxmoxTaskLost, "unknown"),
  row(
    /VM is locked \(/,
    ProxmoxLocked,
    "retryable",
    "If no task is running for the VM, the lock is stale: qm unlock <vmid> on its node.",
  ),
  row(
    /can't lock file '|got lock request timeout|'-locked command timed out|can't acquire lock/,
    ProxmoxBusy,
    "retryable",
  ),
  row(
    /no quorum|cluster filesystem not online|pmxcfs.*not (?:running|online)/i,
    ProxmoxQuorum,
    "retryable",
    "The cluster has no quorum. Nothing is changed until enough nodes are back: pvecm status.",
  ),
  row(
    /checksum mismatch \(file change by other user\?\)|detected modified configuration/,
    ProxmoxConflict,
    "retryable",
  ),
  // The firewall has changed since its changes were computed: a request that was given up as lost has arrived
  // after all.
  row(
    /\bIPSet '[^']*' already exists|\baddress '[^']*' already exists|\bno such IP\/Network|\bno rule at position \d{1,9}|\bno such ipset '/,
    ProxmoxConflict,
    "retryable",
  ),
  row(/\bno such IPSet '/, ProxmoxNoSuchSet, "retryable"),
  row(
    /\bVM \d+ already running|\bVM \d+ not running|can't convert a template to a template|shrinking disks is not supported/,
    ProxmoxAlready,
    "permanent",
  ),
  row(/VM quit\/powerdown failed|VM is paused - cannot shutdown/, ProxmoxGuestIgnores, "permanent"),
  row(/is running - destroy failed/, ProxmoxRunning, "retryable"),
  row(/protection mode enabled/, ProxmoxProtected, "permanent"),
  row(
    /guest agent is not running|No QEMU guest agent configured|\bVM \d+ is not running|qmp command 'guest-[^']*' failed|Agent error:/i,
    ProxmoxAgentUnavailable,
    "retryable",
  ),
  row(
    /no space left|not enough free space|insufficient free space|unable to get any free VMID in range|cannot allocate memory/i,
    ProxmoxCapacity,
    "permanent",
    "The region is out of room: free or add storage or memory, then retry the job.",
  ),
  row(/got no worker upid|unable to fork worker/, ProxmoxWorkerUnavailable, "retryable"),
  row(
    /qemu-img resize (?:\S+ ){1,12}got timeout/,
    ProxmoxBusy,
    "retryable",
    "Resizing a preallocated qcow2 takes over 10 s: set preallocation=off on the storage.",
  ),
  row(/^unexpected status$|unable to get last line from task log/, ProxmoxTaskLost, "unknown"),
  row(
    /base volume '[^']*' is still in use by linked cloned/,
    ProxmoxFailure,
    "permanent",
    "Linked clones still use this template; remove them first.",
  ),
  row(
    /only root can set '|only root is allowed/i,
    ProxmoxForbidden,
    "permanent",
    "The template carries a setting that only root@pam may change: remove it from the template.",
  ),
  row(
    /certificate verify failed|hostname verification failed/,
    ProxmoxNodeUnreachable,
    "retryable",
    "One node does not trust another's certificate, or a node name is wrong: names come from /nodes, never from DNS.",
  ),
];

const STATUS_FIX: Readonly<Record<number, string>> = {
  401: "The API token is wrong, expired or disabled. Make a new one and restart the agent.",
  403: "Give the privilege to both the token and its user: a token with privilege separation has only what both have.",
  501: "This Proxmox VE version does not know the call. Version 8.4 or newer is needed.",
};

function byStatus(status: number, write: boolean): { class: ErrorClass; outcome: ErrorOutcome } {
  const lost = write ? "unknown" : "retryable";
  switch (status) {
    case 400:
    case 506:
      return { class: ProxmoxBadRequest, outcome: "permanent" };
    case 401:
      return { class: ProxmoxUnauthorized, outcome: "retryable" };
    case 403:
      return { class: ProxmoxForbidden, outcome: "permanent" };
    case 404:
    case 501:
      return { class: ProxmoxUnsupported, outcome: "permanent" };
    case 595:
      return { class: ProxmoxNodeUnreachable, outcome: lost };
    case 500:
      return { class: ProxmoxFailure, outcome: "retryable" };
    default:
      // 596 to 599 are the proxy's own; 502 to 504 come from a load balancer in front of it.
      return { class: write ? ProxmoxUnknownOutcome : ProxmoxNodeUnreachable, outcome: lost };
  }
}

/** The error of an answered call. `text` is reason phrase, message and parameter errors together. */
export function errorOfAnswer(answer: {
  call: string;
  status: number;
  text: string;
  write: boolean;
}): ProxmoxError {
  const { call, status, text, write } = answer;
  // An answer from a proxy in between says nothing about the VM, whatever its text; 401 and 403 are about us.
  const wordsCount = status === 400 || status === 500;
  const known = wordsCount ? ERROR_TEXTS.find((each) => each.pattern.test(text)) : undefined;
  if (known) return new known.class({ call, status, text, outcome: known.outcome, fix: known.fix });
  const fallback = byStatus(status, write);
  const fix =
    STATUS_FIX[status] ??
    (status >= 595 ? (ERROR_TEXTS.find((each) => each.pattern.test(text))?.fix ?? null) : null);
  return new fallback.class({ call, status, text, outcome: fallback.outcome, fix });
}

/** The error of a task that ended with something else than OK or WARNINGS. */
export function errorOfTask(task: {
  upid: string;
  label: string;
  exitStatus: string;
  logTail: readonly string[];
}): ProxmoxError {
  const known = ERROR_TEXTS.find((each) => each.pattern.test(task.exitStatus));
  return new (known?.class ?? ProxmoxFailure)({
    call: `task ${task.label}`,
    status: null,
    text: task.exitStatus,
    outcome: known?.outcome ?? "permanent",
    fix: known?.fix ?? null,
    task: { upid: task.upid, logTail: task.logTail },
  });
}
