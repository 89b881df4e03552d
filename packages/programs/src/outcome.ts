// From what went wrong to how the job ends.

import type { Schemas } from "@kule/contract/schemas";
import { DnsRefused, DnsUnavailable } from "@kule/dns/dns-provider";
import { BadEdgeState } from "@kule/edge/check-network";
import { EdgeCommandFailed, EdgeUnreachable } from "@kule/edge/runner";
import {
  ProxmoxAlready,
  ProxmoxBusy,
  ProxmoxCapacity,
  ProxmoxConflict,
  ProxmoxError,
  ProxmoxExists,
  ProxmoxForbidden,
  ProxmoxGuestIgnores,
  ProxmoxLocked,
  ProxmoxNotFound,
  ProxmoxNotOurs,
  ProxmoxProtected,
  ProxmoxRunning,
} from "@kule/proxmox/errors";
import { Bug, Cancelled, Failed, Released, RetryLater, StaleLease } from "./errors.ts";

/** The state differs from when the plan was made, or is not known: observe before doing anything. */
export function needsNewObservation(error: unknown): error is ProxmoxError | EdgeFailure | DnsFailure {
  // A command that did not end may have done its work, and one that failed did so because the state was
  // different.
  if (isEdgeTrouble(error) || isDnsTrouble(error)) return true;
  if (!(error instanceof ProxmoxError)) return false;
  if (error.outcome === "unknown") return true;
  return [
    ProxmoxConflict,
    ProxmoxExists,
    ProxmoxNotFound,
    ProxmoxLocked,
    ProxmoxBusy,
    ProxmoxRunning,
    ProxmoxProtected,
    ProxmoxAlready,
  ].some((each) => error instanceof each);
}

type EdgeFailure = EdgeCommandFailed | EdgeUnreachable;

type DnsFailure = DnsUnavailable | DnsRefused;

/** A call that may have been done, or one for a zone that somebody has deleted since it was read. */
function isDnsTrouble(error: unknown): error is DnsFailure {
  return error instanceof DnsUnavailable || (error instanceof DnsRefused && error.status === 404);
}

function isEdgeTrouble(error: unknown): error is EdgeFailure {
  return error instanceof EdgeCommandFailed || error instanceof EdgeUnreachable;
}

/** The reason for a new observation, in a step's line. */
export function newObservationReason(error: ProxmoxError | EdgeFailure | DnsFailure): string {
  if (error instanceof DnsRefused) return "the zone is not as expected";
  if (error instanceof DnsUnavailable) return "the outcome is not known";
  const isUnknown =
    error instanceof ProxmoxError ? error.outcome === "unknown" : error instanceof EdgeUnreachable;
  return isUnknown ? "the outcome is not known" : "the region is not as expected";
}

function internalText(error: ProxmoxError): string {
  const { fix, task } = error.facts;
  return [error.message, fix, ...(task?.logTail ?? [])].filter((line) => line).join("\n");
}

export function retryLater(error: ProxmoxError | EdgeFailure | DnsFailure): RetryLater {
  if (error instanceof DnsUnavailable || error instanceof DnsRefused) return dnsRetry(error);
  if (isEdgeTrouble(error)) return edgeRetry(error);
  return new RetryLater(
    {
      code: "hypervisor_unavailable",
      message: "The region does not answer as it should; this is tried again.",
      internal: internalText(error),
    },
    { cause: error },
  );
}

function dnsRetry(error: DnsFailure): RetryLater {
  return new RetryLater(
    {
      code: "dns_unavailable",
      message: "The DNS provider does not answer as it should; this is tried again.",
      internal: error.message,
    },
    { cause: error },
  );
}

function edgeRetry(error: EdgeFailure): RetryLater {
  const code = error instanceof EdgeUnreachable ? "edge_unreachable" : "edge_refused";
  return new RetryLater(
    {
      code,
      message: "The region's router does not answer as it should; this is tried again.",
      internal: error.message,
    },
    { cause: error },
  );
}

/**
 * The class of a job's end for an error from the hypervisor. Other errors are returned as Bug or as they are.
 */
export function classifyFailure(
  error: unknown,
): RetryLater | Failed | Bug | StaleLease | Cancelled | Released {
  if (
    error instanceof RetryLater ||
    error instanceof Failed ||
    error instanceof Bug ||
    error instanceof StaleLease ||
    error instanceof Cancelled ||
    error instanceof Released
  )
    return error;
  if (isEdgeTrouble(error)) return edgeRetry(error);
  if (isDnsTrouble(error)) return dnsRetry(error);
  if (error instanceof DnsRefused)
    return new Failed(
      {
        code: "dns_refused",
        message: "The DNS provider does not accept the domain's records. An operator has to look at it.",
        internal: error.message,
      },
      { cause: error },
    );
  if (error instanceof BadEdgeState)
    return new Failed(
      {
        code: "bad_network",
        message: "The network's state cannot be applied. An operator has to look at it.",
        internal: error.message,
      },
      { cause: error },
    );
  if (!(error instanceof ProxmoxError))
    return new Bug(error instanceof Error ? (error.stack ?? error.message) : String(error), { cause: error });
  const internal = internalText(error);
  if (error instanceof ProxmoxNotOurs)
    return new Failed(
      {
        code: "vm_not_ours",
        message: "The server's virtual machine was changed outside of Kule. An operator has to look at it.",
        internal,
      },
      { cause: error },
    );
  if (error instanceof ProxmoxCapacity)
    return new Failed(
      { code: "region_capacity", message: "The region has no room for this at the moment.", internal },
      { cause: error },
    );
  if (error instanceof ProxmoxForbidden)
    return new Failed(
      {
        code: "hypervisor_forbidden",
        message: "The region is not set up to do this. An operator has to look at it.",
        internal,
      },
      { cause: error },
    );
  if (error instanceof ProxmoxGuestIgnores)
    return new Failed(
      {
        code: "guest_ignored",
        message: "The guest did not shut down in time. It can be switched off instead.",
        internal,
      },
      { cause: error },
    );
  if (error.outcome !== "permanent" || needsNewObservation(error)) return retryLater(error);
  return new Failed(
    {
      code: "hypervisor_refused",
      message: "The region could not do this. An operator has to look at it.",
      internal,
    },
    { cause: error },
  );
}

const INTERNAL_CHARACTERS = 20_000;

/**
 * The outcome that is reported for a run that threw. Null for StaleLease, after which nothing is reported. A
 * Bug releases the job for another try: a newer agent may be right, and after the last attempt it fails with
 * its text.
 */
export function outcomeOfFailure(error: unknown): Schemas["JobOutcome"] | null {
  const failure = classifyFailure(error);
  if (failure instanceof StaleLease) return null;
  if (failure instanceof Released) return { status: "released" };
  const observed = failure.seen === null ? {} : { observed: { ...failure.seen } };
  if (failure instanceof Cancelled) return { status: "cancelled", ...observed };
  const { step } = failure;
  if (failure instanceof Bug) {
    const internal = failure.message.slice(0, INTERNAL_CHARACTERS);
    return {
      status: "retry",
      error: {
        code: "internal",
        message: "Something went wrong on our side; this is tried again.",
        internal,
        step,
        retryable: true,
      },
      ...observed,
    };
  }
  const { code, message, internal } = failure.facts;
  const shown = { code, message, internal: internal.slice(0, INTERNAL_CHARACTERS), step };
  if (failure instanceof RetryLater)
    return { status: "retry", error: { ...shown, retryable: true }, ...observed };
  return {
    status: "failed",
    error: { ...shown, retryable: failure.vmidUnusable !== null },
    ...(failure.vmidUnusable === null
      ? observed
      : { observed: { ...failure.seen, vmid_unusable: failure.vmidUnusable } }),
  };
}
