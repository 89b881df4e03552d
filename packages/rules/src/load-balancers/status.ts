import type { ResizeState } from "./resize.ts";

export type LoadBalancerStatus = "provisioning" | "active" | "updating" | "degraded" | "error" | "deleting";

export type StatusFacts = {
  readonly isDeleting: boolean;
  readonly hasOpenJob: boolean;
  /** Of what is wanted. */
  readonly generation: number;
  /** The last one that all its machines have; 0 before the first. */
  readonly observedGeneration: number;
  /** How its last job ended; null: well, or none has ended. */
  readonly failure: "configuration_refused" | "apply_failed" | null;
  readonly isDegraded: boolean;
  readonly resize: ResizeState;
};

/**
 * `error` only before it has ever served: after that a job that fails leaves what was in force, and the status says how
 * it serves. That a machine is missing is said before that a change is on its way, which `job_id` says too.
 */
export function loadBalancerStatus(facts: StatusFacts): LoadBalancerStatus {
  if (facts.isDeleting) return "deleting";
  if (facts.observedGeneration === 0)
    return facts.failure !== null && !facts.hasOpenJob ? "error" : "provisioning";
  if (facts.isDegraded) return "degraded";
  if (facts.resize === "ongoing" || facts.resize === "waiting") return "updating";
  return facts.observedGeneration < facts.generation && facts.hasOpenJob ? "updating" : "active";
}

export type StatusReason = {
  readonly code:
    | "configuration_refused"
    | "apply_failed"
    | "provisioning_failed"
    | "resize_failed"
    | "resize_waiting"
    | "machine_silent";
  readonly message: string;
};

/** Why the status is not what everybody wants, or why what is wanted is not in force; null: there is nothing to say. */
export function statusReason(facts: StatusFacts): StatusReason | null {
  const isApplied = facts.observedGeneration >= facts.generation;
  if (facts.failure !== null && !facts.hasOpenJob && !isApplied)
    return facts.observedGeneration === 0
      ? { code: "provisioning_failed", message: "The load balancer could not be made. Re-apply it." }
      : failureReasons[facts.failure];
  if (facts.resize === "failed" || facts.resize === "waiting") return resizeReasons[facts.resize];
  if (facts.isDegraded && facts.observedGeneration > 0)
    return {
      code: "machine_silent",
      message: "A machine does not answer. With two machines it is replaced after 5 minutes.",
    };
  return null;
}

const resizeReasons = {
  failed: {
    code: "resize_failed",
    message: "A machine could not be resized. Resize the load balancer again.",
  },
  waiting: {
    code: "resize_waiting",
    message: "There is no room or quota to resize the next machine now. It is tried again every minute.",
  },
} as const satisfies Record<string, StatusReason>;

const failureReasons = {
  configuration_refused: {
    code: "configuration_refused",
    message: "A machine has refused the last change. The configuration before it is in force.",
  },
  apply_failed: {
    code: "apply_failed",
    message: "The last change is not on all machines. Re-apply it.",
  },
} as const satisfies { readonly [failure in NonNullable<StatusFacts["failure"]>]: StatusReason };
