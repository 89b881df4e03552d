import type { Refusal } from "../decision.ts";
import type { GatewayCode } from "./lifecycle.ts";

export type GatewayStatus = "provisioning" | "active" | "updating" | "deleting" | "error";

/** How far the region's edge is with what is wanted. */
export function gatewayStatus(gateway: {
  readonly isDeleting: boolean;
  readonly generation: number;
  /** Of what the edge has; 0 before it has anything. */
  readonly observedGeneration: number;
  /** A job that was to bring what is wanted has failed. */
  readonly hasFailed: boolean;
}): GatewayStatus {
  if (gateway.isDeleting) return "deleting";
  if (gateway.hasFailed) return "error";
  if (gateway.observedGeneration === 0) return "provisioning";
  return gateway.observedGeneration < gateway.generation ? "updating" : "active";
}

export type SubnetLinkStatus = "attaching" | "ready" | "detaching";

/**
 * The edge's state of a subnet: one that is being detached still has access until the edge has confirmed it.
 */
export function subnetLinkStatus(link: { readonly isApplied: boolean; readonly isLeaving: boolean }) {
  if (link.isLeaving) return "detaching" satisfies SubnetLinkStatus;
  return (link.isApplied ? "ready" : "attaching") satisfies SubnetLinkStatus;
}

export type PortForwardStatus = "provisioning" | "active" | "deleting";

export function portForwardStatus(forward: { readonly isApplied: boolean; readonly isLeaving: boolean }) {
  if (forward.isLeaving) return "deleting" satisfies PortForwardStatus;
  return (forward.isApplied ? "active" : "provisioning") satisfies PortForwardStatus;
}

export type GatewayActionState = {
  readonly allowed: boolean;
  readonly code: GatewayCode | null;
  readonly reason: string | null;
};

/** A gateway's `actions`, by the result of the decision. */
export function gatewayAction([first]: readonly Refusal<GatewayCode>[]): GatewayActionState {
  return first === undefined
    ? { allowed: true, code: null, reason: null }
    : { allowed: false, code: first.code, reason: first.message };
}
