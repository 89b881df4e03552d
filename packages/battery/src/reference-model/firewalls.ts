// Firewalls: the requests of people, and what the end of any job of a server means for its filter. Subnets, labels and
// rules about other servers are not here, nor is the worker's task that follows them.

import { absent, type Expected, refused } from "./answers.ts";
import { hasOpenJob, type ModelState, wasCreated } from "./model-state.ts";
import type { ModelFirewall, ModelJob, ModelServer, ServerJobKind } from "./types.ts";

const NONE = "";
/** Of a VM whose rules a job has left half changed. */
const UNKNOWN = "unknown";
/** Jobs that write the VM's filter in addition to their own work. */
const writes: ReadonlySet<ServerJobKind> = new Set<ServerJobKind>([
  "ServerCreate",
  "ServerRebuild",
  "PublicIpAttach",
  "PublicIpDetach",
  "FirewallApply",
]);

export const writesFilter = ({ kind }: ModelJob): boolean => writes.has(kind);

export function expectFilter(firewall: ModelFirewall | undefined, server: ModelServer | undefined): Expected {
  if (firewall === undefined) return absent;
  if (server === undefined || server.status === "deleted") return { status: 422 };
  return firewall.servers.has(server) ? refused("already_attached") : { status: 202 };
}

/** The rule of a firewall is replaced, unless it is the same. */
export function applyRule(firewall: ModelFirewall, port: number): void {
  if (firewall.port !== port) Object.assign(firewall, { port, rule: firewall.rule + 1 });
}

/** After a change of any firewall: all servers' filters are computed again, and those that differ get jobs. */
export function tellServers(state: ModelState): ModelJob[] {
  return state.servers.flatMap((server) => {
    if (server.status === "deleted") return [];
    const { filter } = server;
    const wanted = wantedOf(state, server);
    const isChanged = wanted !== filter.wanted;
    const isBusy = hasOpenJob(server);
    const isMissing = wanted !== filter.applied && (isChanged || !filter.failed);
    if (isChanged) Object.assign(filter, { wanted, failed: false, ...(isBusy ? { applied: UNKNOWN } : {}) });
    return isMissing && canGetFilterJob(server) && !isBusy ? [state.addJob(server, "FirewallApply")] : [];
  });
}

export const firewallsOf = (state: ModelState, server: ModelServer): ModelFirewall[] =>
  state.firewalls.filter(({ servers }) => servers.has(server));

/** How the server's filter is named in a payload and in an agent's report. */
export function filterIdOf(state: ModelState, server: ModelServer): string {
  const attached = firewallsOf(state, server);
  return attached.length === 0 ? "none" : `flt_${attached.map(firewallName).join("_")}`;
}

export const firewallName = ({ number, rule }: ModelFirewall): string => `${number}v${rule}`;

const storedId = (id: string | null): string => (id === null || id === "none" ? NONE : id);
const wantedOf = (state: ModelState, server: ModelServer) => storedId(filterIdOf(state, server));

const canGetFilterJob = (server: ModelServer) =>
  (server.status === "running" || server.status === "stopped") && wasCreated(server);

function isFiltered(state: ModelState, { filter }: ModelServer): boolean {
  const isKnown = filter.wanted !== NONE || filter.applied !== NONE;
  return isKnown || state.firewalls.some(({ servers }) => servers.size > 0);
}

/** @param seen the agent's report about the VM's filter */
export function settleFilter(state: ModelState, job: ModelJob, seen: string | null): void {
  const { server } = job;
  if (!isFiltered(state, server)) return;
  if (server.status === "deleted") {
    for (const { servers } of state.firewalls) servers.delete(server);
    return;
  }
  const { filter } = server;
  const wanted = wantedOf(state, server);
  const applied = appliedBy(job, seen);
  const hasFailed = job.kind === "FirewallApply" && job.status !== "succeeded";
  const failed = applied !== wanted && (hasFailed || (filter.failed && wanted === filter.wanted));
  Object.assign(filter, { wanted, applied, failed });
  if (applied === wanted || failed || !canGetFilterJob(server) || hasOpenJob(server)) return;
  state.addJob(server, "FirewallApply");
}

function appliedBy(job: ModelJob, seen: string | null): string {
  const { applied } = job.server.filter;
  if (!writesFilter(job)) return applied;
  if (job.status === "succeeded") return storedId(seen);
  return job.epoch === 0 ? applied : UNKNOWN;
}

/** A job that waits is superseded: what an attempt at it has written stays, and what the rules' own was to do is not done. */
export function leaveFilter(state: ModelState, job: ModelJob): void {
  const isLeft = writesFilter(job) && (job.epoch > 0 || job.kind === "FirewallApply");
  if (isLeft && isFiltered(state, job.server)) job.server.filter.applied = UNKNOWN;
}

export function retryFilter({ kind, server }: ModelJob): void {
  if (kind === "FirewallApply") server.filter.failed = false;
}
