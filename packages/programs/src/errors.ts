// How a job can fail. The first three say something about the job; the others end a run without doing so.
// Those that end a job may carry a last observation of the VM: it is valid however the job ended.

import type { Schemas } from "@kule/contract/schemas";
import type { JobErrorCode } from "@kule/rules/jobs/region-texts";

/** The state that was read at the end of the run. */
export type LastObservation =
  | {
      readonly power_state: "on" | "off";
      /** Of the disk that it boots from, where the job could have changed it. */
      readonly disk_bytes?: number;
    }
  | { readonly load_balancer: ObservedLoadBalancer };

/** What each machine of a load balancer has now. */
export type ObservedLoadBalancer = NonNullable<
  NonNullable<Schemas["JobOutcome"]["observed"]>["load_balancer"]
>;

export type ProgramErrorFacts = {
  /** Closed vocabulary of the job's error: `template_missing`, `vmid_taken` ... */
  readonly code: JobErrorCode;
  /** For the user. Contains no nodes, storages or other organisations. */
  readonly message: string;
  /** For operators: Proxmox' own text and the end of the task's log. */
  readonly internal: string;
};

/** The region has trouble that passes: the same job is tried again later. */
export class RetryLater extends Error {
  readonly facts: ProgramErrorFacts;
  step: string | null = null;
  seen: LastObservation | null = null;
  constructor(facts: ProgramErrorFacts, options?: ErrorOptions) {
    super(`${facts.code}: ${facts.internal}`, options);
    this.name = "RetryLater";
    this.facts = facts;
  }
}

/** The same job will fail again until something is changed. */
export class Failed extends Error {
  readonly facts: ProgramErrorFacts;
  /** The VMID of the job can never be used for this server; the control plane takes another. */
  readonly vmidUnusable: "taken" | "quarantined" | null;
  step: string | null = null;
  seen: LastObservation | null = null;
  constructor(facts: ProgramErrorFacts, options?: ErrorOptions & { vmidUnusable?: "taken" | "quarantined" }) {
    super(`${facts.code}: ${facts.internal}`, options);
    this.name = "Failed";
    this.facts = facts;
    this.vmidUnusable = options?.vmidUnusable ?? null;
  }
}

/** We are wrong, not the region. */
export class Bug extends Error {
  step: string | null = null;
  seen: LastObservation | null = null;
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Bug";
  }
}

/** Another agent may be running this job by now: nothing more is sent or reported. */
export class StaleLease extends Error {
  constructor(message = "the lease of this job is over") {
    super(message);
    this.name = "StaleLease";
  }
}

/** The job's owner has called it off. */
export class Cancelled extends Error {
  seen: LastObservation | null = null;
  constructor(message = "the job was cancelled") {
    super(message);
    this.name = "Cancelled";
  }
}

/**
 * The agent is stopping: the job is released at once and another run continues it. The reason to abort a run
 * with.
 */
export class Released extends Error {
  constructor(message = "the agent is stopping") {
    super(message);
    this.name = "Released";
  }
}
