import type { ServerStatus } from "../servers/lifecycle.ts";

export type JobStatus = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/** True once the job has ended and changes only by a request. */
export function isDone(status: JobStatus): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

export type JobActionDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: string };

const yes: JobActionDecision = { allowed: true };
const no = (reason: string): JobActionDecision => ({ allowed: false, reason });

/** Actions on an existing server: cancelled while they wait, and completed once they have begun. */
const acts = new Set([
  "ServerPower",
  "ServerResize",
  "ServerRebuild",
  "ServerPasswordReset",
  "ServerReconcile",
]);

/**
 * Whether a job may be asked to stop. Only a create can be ended half-way: for a removal there is
 * cancel-deletion, a destroy that has begun cannot be undone, and half a reboot is worse than a whole one.
 */
export function decideCancel(job: {
  readonly kind: string;
  readonly status: JobStatus;
  readonly irreversible: boolean;
}): JobActionDecision {
  if (isDone(job.status)) return no(`The job has ${job.status}`);
  if (job.kind === "ServerStop") return no("Use cancel-deletion to stop the removal of the server");
  if (job.kind === "ServerRestore") return no("Delete the server instead: it will be stopped again");
  if (job.kind === "PublicIpAttach") return no("Detach the address instead, once the job has ended");
  if (job.kind === "PublicIpDetach") return no("Attach the address again instead, once the job has ended");
  if (acts.has(job.kind)) return job.status === "queued" ? yes : no("The job is being carried out");
  if (job.kind === "ServerUpdate") return no("Rename the server again instead");
  if (job.kind === "NetworkApply") return no("Change the network again instead");
  if (job.kind === "DomainApply") return no("Change the domain again instead");
  if (job.kind === "FirewallApply") return no("Change the firewall again instead");
  if (job.kind === "DomainApply") return no("Change the domain again instead");
  if (job.kind !== "ServerCreate" && job.kind !== "ServerAdopt") return no("A destroy cannot be undone");
  if (job.status === "running" && job.irreversible) return no("The job has done what cannot be undone");
  return yes;
}

/** Whether a job of a network that ended without success may be queued again: what it brings is what is wanted then. */
export const decideNetworkRetry = (job: AppliedJob, network: AppliedResource): JobActionDecision =>
  decideApplyRetry("network", job, network);

/** The same of a job of a domain. */
export const decideDomainRetry = (job: AppliedJob, domain: AppliedResource): JobActionDecision =>
  decideApplyRetry("domain", job, domain);

/** The same of a job of a load balancer. */
export const decideLoadBalancerRetry = (job: AppliedJob, loadBalancer: AppliedResource): JobActionDecision =>
  decideApplyRetry("load balancer", job, loadBalancer);

type AppliedJob = { readonly status: JobStatus; readonly isOvertaken: boolean };
type AppliedResource = { readonly isThere: boolean; readonly hasOpenJob: boolean };

function decideApplyRetry(what: string, job: AppliedJob, resource: AppliedResource): JobActionDecision {
  if (job.status !== "failed" && job.status !== "cancelled") return no(`The job is ${job.status}`);
  if (!resource.isThere) return no(`The ${what} does not exist any more`);
  if (resource.hasOpenJob) return no(`Another job of the ${what} is open`);
  return job.isOvertaken ? no(`Another job of the ${what} came after it`) : yes;
}

/** In which state a server must be for a job of that kind to be tried again. */
const retryNeeds: {
  readonly [kind: string]: { readonly statuses: readonly ServerStatus[]; created?: boolean };
} = {
  ServerCreate: { statuses: ["error"], created: false },
  ServerAdopt: { statuses: ["error"], created: false },
  ServerRestore: { statuses: ["error"], created: true },
  ServerStop: { statuses: ["pending_deletion"] },
  PublicIpAttach: { statuses: ["running", "stopped"] },
  PublicIpDetach: { statuses: ["running", "stopped", "error", "pending_deletion"] },
  ServerDestroy: { statuses: ["deleting"] },
  // A power action is easily requested again; an interrupted resize is completed.
  ServerResize: { statuses: ["running", "stopped", "error"], created: true },
  // Before its disk was touched a server can be rebuilt with a new request, with another password.
  ServerRebuild: { statuses: ["error"], created: true },
  ServerUpdate: { statuses: ["running", "stopped"], created: true },
  ServerReconcile: { statuses: ["running", "stopped", "error"], created: true },
  FirewallApply: { statuses: ["running", "stopped"], created: true },
};

/** Jobs around a server, in its networks: what a rebuild has broken is as broken after them. */
export const leaveTheDisk = ["PublicIpAttach", "PublicIpDetach", "FirewallApply", "ServerReconcile"] as const;

/**
 * Jobs that write the VM's filter in addition to their own work. One of them that is requested, or retried,
 * supersedes a queued `FirewallApply`: the cause that interrupted the first often delays the other one, which
 * the control plane queued because of it, for as long again.
 */
export const writeTheFilter = [
  "ServerCreate",
  "ServerRebuild",
  "PublicIpAttach",
  "PublicIpDetach",
  "FirewallApply",
  "ServerReconcile",
] as const;

/** Whether a job of the kind that waits is superseded by one that writes the filter. */
export const isPreemptedByInterfaceJobs = (kind: string): boolean => kind === "FirewallApply";

/**
 * Whether a job that ended without success may be queued again.
 *
 * @param job `isOvertaken`: another of its kind came after it; after a rebuild any job that used the server's
 * disk. `irreversible`: it has begun what cannot be undone
 * @param server `hasOpenJob`: one that cannot be superseded
 */
export function decideRetry(
  job: {
    readonly kind: string;
    readonly status: JobStatus;
    readonly isOvertaken: boolean;
    readonly irreversible: boolean;
  },
  server: {
    readonly status: ServerStatus | "deleted";
    readonly wasCreated: boolean;
    readonly hasOpenJob: boolean;
    readonly isLocked: boolean;
  },
): JobActionDecision {
  if (job.status !== "failed" && job.status !== "cancelled") return no(`The job is ${job.status}`);
  if (server.isLocked) return no("The server is locked by an operator");
  if (server.hasOpenJob) return no("Another job of the server is open");
  const needs = retryNeeds[job.kind];
  const fits =
    needs?.statuses.some((status) => status === server.status) === true &&
    (needs.created === undefined || needs.created === server.wasCreated);
  if (!fits || job.isOvertaken) return no("The server has moved on");
  // Its disk is intact, whatever else has brought the server into error since, and the new password is
  // deleted.
  if (job.kind === "ServerRebuild" && !job.irreversible) return no("Nothing was destroyed: rebuild it anew");
  return yes;
}
