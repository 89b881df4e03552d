import type { ModelState } from "../reference-model/model-state.ts";
import type { ModelServer } from "../reference-model/types.ts";

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
  const numberOf = (server: ModelServer | null) =>
    server === null ? undefined : state.servers.indexOf(server) + 1;
  return {
    servers: state.servers.map((server, index) =>
      row(
        index + 1,
        server.status,
        server.power,
        server.reason,
        server.restoresTo,
        server.generation,
        server.observedGeneration,
        server.purgeAt !== null,
        server.hasSecret,
        server.name,
        server.image,
        server.package,
        server.diskGb,
        server.growsTo?.slug,
        server.growsTo?.diskGb,
        server.isProtected,
        server.isRebuildProtected,
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
        numberOf(job.server),
        job.status,
        job.attempt,
        job.epoch,
        job.lastSeq,
        job.phase,
        job.progress,
        job.isIrreversible,
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
    usage: state.usage.map((each) => row(numberOf(each.server), each.kind, each.job.number, each.package)),
    numbers: [...state.vmids]
      .sort(([one], [other]) => one - other)
      .map(([vmid, each]) => row(vmid, each.state, numberOf(each.server))),
    addresses: state.servers.map(({ host }, index) => row(index + 1, host === null ? 0 : 1)),
    publicIps: state.ips.map((ip) =>
      row(
        ip.number,
        numberOf(ip.wantedBy),
        numberOf(ip.heldBy),
        ip.isApplied,
        ip.needsReboot,
        ip.reason,
        ip.generation,
      ),
    ),
    firewalls: state.firewalls.map((firewall) =>
      row(
        firewall.number,
        firewall.port,
        [...firewall.servers]
          .map((server) => numberOf(server) ?? 0)
          .sort((one, other) => one - other)
          .join(","),
      ),
    ),
  };
}

export function row(...values: readonly unknown[]): string {
  return values.map((value) => String(value ?? "-")).join(" ");
}
