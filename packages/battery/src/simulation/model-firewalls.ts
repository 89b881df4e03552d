// Firewalls in the model: the requests of people, and what the end of any job of a server means for its
// filter. apps/api's products/firewalls. Each has one rule and is attached to servers by name; subnets,
// labels and rules about other servers are not here, nor is the worker's task that follows them.

import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import { writeTheFilter } from "@kule/rules/jobs/actions";
import type { ControlPlaneModel } from "./control-plane.ts";
import { type ModelAnswer, refused } from "./model-refusals.ts";
import type { ModelFirewall, ModelJob, ModelServer, ModelState } from "./model-state.ts";

export type Filter = PayloadOf<"FirewallApply">["filter"];

/** How many servers get a job. */
export type FirewallAnswer = ModelAnswer<{ readonly jobs: readonly ModelJob[] }>;

const NONE = "";
/** Of a VM whose rules a job has left half changed. */
const UNKNOWN = "unknown";

export function attachFirewall(model: ControlPlaneModel, number: number, serverId: string): FirewallAnswer {
  const { state } = model;
  const firewall = state.firewalls[number - 1];
  if (firewall === undefined) return refused(404, "not_found");
  const server = state.servers.get(serverId);
  if (server === undefined || server.status === "deleted") return refused(422, "validation_failed");
  if (firewall.servers.has(serverId)) return refused(409, "already_attached");
  firewall.servers.add(serverId);
  return told(model);
}

export function detachFirewall(model: ControlPlaneModel, number: number, serverId: string): FirewallAnswer {
  const firewall = model.state.firewalls[number - 1];
  if (firewall?.servers.delete(serverId) !== true) return refused(404, "not_found");
  return told(model);
}

/** Another rule in place of the present one, unless it is the same. */
export function changeFirewall(model: ControlPlaneModel, number: number, port: number): FirewallAnswer {
  const firewall = model.state.firewalls[number - 1];
  if (firewall === undefined) return refused(404, "not_found");
  if (firewall.port !== port) Object.assign(firewall, { port, rule: firewall.rule + 1 });
  return told(model);
}

/** Computes all servers' filters again, and queues jobs for those that differ. */
function told(model: ControlPlaneModel): FirewallAnswer {
  const { state } = model;
  const jobs: ModelJob[] = [];
  for (const server of state.servers.values()) {
    if (server.status === "deleted") continue;
    const wanted = wantedOf(state, server.id);
    const isChanged = wanted !== server.filter.wanted;
    const busy = isBusy(state, server);
    const isMissing = wanted !== server.filter.applied && (isChanged || !server.filter.failed);
    if (isChanged)
      Object.assign(server.filter, { wanted, failed: false, ...(busy ? { applied: UNKNOWN } : {}) });
    if (isMissing && canGetFilterJob(server) && !busy) jobs.push(state.addJob("FirewallApply", server.id));
  }
  if (jobs.length > 0) model.onNews();
  return { status: jobs.length === 0 ? 200 : 202, body: { jobs } };
}

/** The filter as a job's payload contains it. */
export function filterOf(state: ModelState, serverId: string): Filter {
  const attached = state.firewalls.filter(({ servers }) => servers.has(serverId));
  if (attached.length === 0) return { id: "none", is_filtered: false, rules: [] };
  return {
    id: `flt_${attached.map(nameOf).join("_")}`,
    is_filtered: true,
    rules: attached.map((firewall) => ({
      id: `fwr_${nameOf(firewall)}`,
      direction: "in",
      action: "allow",
      protocol: "tcp",
      ports: [String(firewall.port)],
      side: null,
      addresses: null,
    })),
  };
}

const nameOf = ({ number, rule }: ModelFirewall) => `${number}v${rule}`;

/** As part of a payload that is about more: none goes without saying. */
export function filterIn(state: ModelState, serverId: string): { filter?: Filter } {
  const filter = filterOf(state, serverId);
  return filter.is_filtered ? { filter } : {};
}

const storedId = (id: string | null): string => (id === null || id === "none" ? NONE : id);
const wantedOf = (state: ModelState, serverId: string) => storedId(filterOf(state, serverId).id);

const canGetFilterJob = ({ status, observedGeneration }: ModelServer) =>
  (status === "running" || status === "stopped") && observedGeneration > 0;

function isBusy(state: ModelState, { id }: ModelServer): boolean {
  const { running, queued } = state.openJobs(id);
  return running !== null || queued !== null;
}

function isFiltered(state: ModelState, { filter }: ModelServer): boolean {
  const isKnown = filter.wanted !== NONE || filter.applied !== NONE;
  return isKnown || state.firewalls.some(({ servers }) => servers.size > 0);
}

const writes = new Set<JobKind>(writeTheFilter);

export type FilterEnd = {
  readonly status: "succeeded" | "failed" | "cancelled";
  /** The agent's report about the VM's filter. */
  readonly filter: string | null;
};

export function settleFilter(state: ModelState, server: ModelServer, job: ModelJob, end: FilterEnd): void {
  if (!isFiltered(state, server)) return;
  if (server.status === "deleted") {
    for (const { servers } of state.firewalls) servers.delete(server.id);
    return;
  }
  const { filter } = server;
  const wanted = wantedOf(state, server.id);
  const applied = appliedBy(server, job, end);
  const hasFailed = job.kind === "FirewallApply" && end.status !== "succeeded";
  const failed = applied !== wanted && (hasFailed || (filter.failed && wanted === filter.wanted));
  Object.assign(filter, { wanted, applied, failed });
  if (applied === wanted || failed || !canGetFilterJob(server) || isBusy(state, server)) return;
  state.addJob("FirewallApply", server.id);
}

function appliedBy({ filter }: ModelServer, job: ModelJob, end: FilterEnd): string {
  if (!writes.has(job.kind)) return filter.applied;
  if (end.status === "succeeded") return storedId(end.filter);
  return job.epoch === 0 ? filter.applied : UNKNOWN;
}

/** A job that waits is superseded: what an attempt at it has written stays, and what the rules' own was to do is not done. */
export function leaveFilter(state: ModelState, server: ModelServer, job: ModelJob): void {
  const isLeft = writes.has(job.kind) && (job.epoch > 0 || job.kind === "FirewallApply");
  if (isLeft && isFiltered(state, server)) server.filter.applied = UNKNOWN;
}

export function retryFilter(server: ModelServer, job: ModelJob): void {
  if (job.kind === "FirewallApply") server.filter.failed = false;
}
