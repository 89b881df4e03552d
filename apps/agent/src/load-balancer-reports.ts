import type { Schemas } from "@kule/contract/schemas";

/** What was seen of a machine, by the monotonic clock. */
export type Reading = {
  readonly machine: Schemas["LoadBalancerReportAck"]["machines"][number];
  readonly askedAt: number;
  /** Null when it did not answer. */
  readonly seen: { readonly at: number; readonly status: Schemas["LoadBalancerMachineStatus"] } | null;
};

type Report = Schemas["LoadBalancerMachineReport"];

/** As the contract limits a call. */
const MOST_REPORTS = 20;
/** Of 1 MiB, with room for the rest of the call. A status alone always has room. */
const MOST_CHARACTERS = 1_000_000;
const MOST_AGE_MILLISECONDS = 86_400_000;

/** The first readings that have room in one call, and the others. Their age is that of now. */
export function reportsOf(
  readings: readonly Reading[],
  now: number,
): { readonly reports: Report[]; readonly left: readonly Reading[] } {
  const reports: Report[] = [];
  let characters = 0;
  for (const reading of readings.slice(0, MOST_REPORTS)) {
    const report = reportOf(reading, now);
    // All of it is ASCII, but for ids of the control plane's own.
    characters += Buffer.byteLength(JSON.stringify(report)) + 1;
    if (reports.length > 0 && characters > MOST_CHARACTERS) break;
    reports.push(report);
  }
  return { reports, left: readings.slice(reports.length) };
}

function reportOf({ machine, askedAt, seen }: Reading, now: number): Report {
  const age = (at: number) => Math.min(MOST_AGE_MILLISECONDS, Math.max(0, Math.round(now - at)));
  return {
    load_balancer_id: machine.load_balancer_id,
    slot: machine.slot,
    server_id: machine.server_id,
    asked_after_ms: age(askedAt),
    seen_after_ms: seen === null ? null : age(seen.at),
    status: seen?.status ?? null,
  };
}
