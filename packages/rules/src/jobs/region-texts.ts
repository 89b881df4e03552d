// Tenants read no text of a region: its operator, or a thief of its agent's token, could write anything into
// a step or an error. The region's own texts are for operators.

/** Every error that a job can end with, by its code: of the programs, of the agent, and of the control plane. */
export const jobErrorTexts = {
  agent_key_pending:
    "The region's agent has a new key, and the secret is for the one before. An operator has to approve the new key.",
  attempts_exhausted: "The job gave up after its last attempt.",
  bad_filter: "The server's firewall rules cannot be applied. An operator has to look at it.",
  bad_network: "The network's state cannot be applied. An operator has to look at it.",
  cancelled: "The job was cancelled.",
  certificate_unreadable:
    "The private key of a certificate cannot be read in the region. Upload the certificate again.",
  configuration_refused:
    "A machine of the load balancer has refused the configuration. The one before it is in force. An operator has to look at it.",
  dns_not_converged: "The DNS provider does not show the change. An operator has to look at it.",
  dns_refused: "The DNS provider does not accept the domain's records. An operator has to look at it.",
  dns_unanswered: "The name servers do not answer with the domain's new state yet.",
  dns_unavailable: "The DNS provider does not answer as it should.",
  edge_missing: "The region has no edge that could carry the network out.",
  edge_refused: "The region's router does not answer as it should.",
  edge_unreachable: "The region's router does not answer.",
  given_up: "The region ended the job, though it was not cancelled.",
  guest_agent_unavailable:
    "The server's guest agent did not answer, so the password was not set. Try again when the guest has started. If it never answers, an operator has to look at the image.",
  guest_ignored: "The guest did not shut down in time. It can be switched off instead.",
  guest_silent: "No machine of the load balancer answers.",
  guest_state_refused: "The appliance does not accept its new state. An operator has to look at it.",
  guest_state_superseded: "A newer state of the appliance is in force.",
  guest_state_unreachable: "The appliance does not answer.",
  guest_stopped: "The server had stopped by itself before it could be reset. It can be started.",
  hypervisor_forbidden: "The region is not set up to do this. An operator has to look at it.",
  hypervisor_refused: "The region could not do this. An operator has to look at it.",
  hypervisor_unavailable: "The region does not answer as it should.",
  internal: "Something went wrong on our side.",
  invalid_payload: "The region cannot use the job's parameters. An operator has to look at it.",
  job_kind_unknown: "The region's agent is too old for this.",
  lease_expired: "The region's agent did not report in time.",
  move_failed: "The address could not be taken off its server.",
  network_superseded: "A newer state of the network is in force.",
  no_public_network: "The region has no public network. An operator has to look at it.",
  not_converged: "The region does not show the change. An operator has to look at it.",
  password_unreadable:
    "The generated password did not reach the region. Ask for another one, or create the server again.",
  payload_not_understood: "The region's agent does not understand this job. An operator has to look at it.",
  region_capacity: "The region has no room for this at the moment.",
  region_error: "The region could not do this. An operator has to look at it.",
  restart_needed: "The server's interfaces are corrected when it is switched off and on.",
  restored:
    "The control plane was restored from a backup that is older than the end of this job. Look whether it was done, and ask for it again otherwise.",
  superseded: "A newer job of the same resource took its place.",
  template_broken: "The region's image cannot be used. An operator has to look at it.",
  template_missing: "The region's image does not exist. An operator has to look at it.",
  vm_incomplete: "The server's virtual machine was only half made. Rebuild the server.",
  vm_locked: "The virtual machine is busy in the region.",
  vm_missing: "The server's virtual machine does not exist any more.",
  vm_not_importable: "The virtual machine cannot be imported. An operator has to look at it.",
  vm_not_ours: "The server's virtual machine was changed outside of Kule. An operator has to look at it.",
  vm_without_disk: "The server's virtual machine was changed outside of Kule. An operator has to look at it.",
  vmid_exhausted: "The region has no VM number left.",
  vmid_quarantined: "The region left a half-made virtual machine behind. An operator has to remove it.",
  vmid_taken: "The region has given this server's place to another server.",
  volumes_left:
    "The server is deleted, but the region could not free all of its disks. An operator has to look at it.",
  worker_lost: "The control plane's worker did not report in time.",
} as const satisfies Readonly<Record<string, string>>;

export type JobErrorCode = keyof typeof jobErrorTexts;

/** The code as it is, or `region_error` for one that the region made up or that is newer than this build. */
export function knownErrorCode(code: string): JobErrorCode {
  return Object.hasOwn(jobErrorTexts, code) ? (code as JobErrorCode) : "region_error";
}

/** The one sentence that tenants read for the code. */
export function jobErrorText(code: string): string {
  return jobErrorTexts[knownErrorCode(code)];
}

/** Every step that a program has; a phase is reported as a step of its own name. */
export const stepNames = [
  "observe",
  "plan",
  "verify",
  "add-link",
  "apply-state",
  "await-answers",
  "await-guest",
  "bring-up",
  "change-links",
  "change-records",
  "clear-guest",
  "clone",
  "close-links",
  "configure",
  "create-zone",
  "delete-zone",
  "describe",
  "destroy",
  "firewall",
  "free-volumes",
  "grow-disk",
  "join-pool",
  "leave-pool",
  "make-key",
  "make-namespace",
  "make-parent",
  "mark",
  "note",
  "open-link",
  "open-links",
  "plug",
  "pool",
  "power-off",
  "protect",
  "put-state",
  "raise-parent",
  "remove",
  "remove-link",
  "rename",
  "replace-rules",
  "reset",
  "resize",
  "route",
  "send-state",
  "set",
  "set-password",
  "shut-down",
  "sign",
  "start",
  "tell-guest",
  "turn-off",
  "unmark",
  "unprotect",
  "unroute",
  "unsign",
  "write",
  "write-drive",
] as const;

export type StepName = (typeof stepNames)[number] | "other";

const isStepName = (name: string): name is (typeof stepNames)[number] =>
  (stepNames as readonly string[]).includes(name);

/** The step as it is, or `other` for one that the region made up or that is newer than this build. */
export function knownStep(name: string): StepName {
  return isStepName(name) ? name : "other";
}

const ownMessages = [
  /^interrupted$/,
  /^for \d{1,6} s$/,
  /^looking again: (the outcome is not known|the region is not as expected|the zone is not as expected)$/,
];

/**
 * The steps of a plan, which have a closed form: a plan is the names of its steps. Null for every other text.
 */
export function knownStepMessage(message: string | null): string | null {
  if (message === null || message.length > maxKnownMessageLength) return null;
  if (ownMessages.some((form) => form.test(message))) return message;
  return message.split(", ").every(isStepName) ? message : null;
}

const maxKnownMessageLength = 400;
