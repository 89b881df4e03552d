import type { ModelState } from "./model-state.ts";

/** Everything that a sequence leaves behind, each row as a text, with numbers for names. */
export type SequenceState = {
  readonly servers: readonly string[];
  readonly jobs: readonly string[];
  readonly steps: readonly string[];
  readonly usage: readonly string[];
  readonly numbers: readonly string[];
  readonly addresses: readonly string[];
  readonly publicIps: readonly string[];
  readonly firewalls: readonly string[];
};

/** Less than any backoff: what one move writes has its order within its moment. */
const DUE_MILLISECONDS = 500;

export function stateOfModel(state: ModelState): SequenceState {
  const numberOf = new Map([...state.servers.keys()].map((id, index) => [id, index + 1]));
  const jobNumber = new Map(state.jobs.map((job) => [job.id, job.number]));
  return {
    servers: [...state.servers.values()].map((server, index) =>
      row(
        index + 1,
        server.status,
        server.powerState,
        server.reasonCode,
        server.restoresTo,
        server.generation,
        server.observedGeneration,
        server.purgeAt !== null,
        server.hasSecret,
        server.name,
        server.image,
        server.package,
        server.diskGb,
        server.resizes?.package,
        server.resizes?.diskGb,
        server.deleteProtected,
        server.rebuildProtected,
        server.filter.wanted === "",
        server.filter.applied === server.filter.wanted,
        server.filter.applied === "",
        server.filter.applied === "unknown",
        server.filter.failed,
      ),
    ),
    jobs: state.jobs.map((job) =>
      row(
        job.number,
        job.kind,
        numberOf.get(job.serverId),
        job.status,
        job.attempt,
        job.epoch,
        job.lastSeq,
        job.phase,
        job.progress,
        job.irreversible,
        job.cancelRequested,
        job.errorCode,
        job.leaseUntil !== null,
        job.status === "queued" && job.runAt - state.now() < DUE_MILLISECONDS,
        job.ends,
      ),
    ),
    steps: state.jobs.flatMap((job) =>
      job.steps.map((step) => row(job.number, step.epoch, step.attempt, step.phase, step.name, step.status)),
    ),
    usage: state.usage.map((each) =>
      row(numberOf.get(each.serverId), each.kind, jobNumber.get(each.jobId), each.package),
    ),
    numbers: [...state.vmids]
      .sort(([one], [other]) => one - other)
      .map(([vmid, each]) => row(vmid, each.state, numberOf.get(each.serverId))),
    addresses: [...state.servers.keys()].map((id, index) =>
      row(index + 1, state.addressOf(id) === null ? 0 : 1),
    ),
    publicIps: state.publicIps.map((ip) =>
      row(
        ip.number,
        numberOf.get(ip.serverId ?? ""),
        numberOf.get(ip.heldBy ?? ""),
        ip.isApplied,
        ip.requiresReboot,
        ip.statusCode,
        ip.generation,
      ),
    ),
    firewalls: state.firewalls.map((firewall) =>
      row(
        firewall.number,
        firewall.port,
        [...firewall.servers]
          .map((id) => numberOf.get(id) ?? 0)
          .sort((one, other) => one - other)
          .join(","),
      ),
    ),
  };
}

export function row(...values: readonly unknown[]): string {
  return values.map((value) => String(value ?? "-")).join(" ");
}
