import { type DnsProvider, DnsUnavailable } from "@kule/dns/dns-provider";
import type { Deps } from "../platform/deps.ts";
import {
  applyFailedDomains,
  endClaims,
  findDrift,
  lookAtDelegations,
  purgeDomains,
  verifyPendingDomains,
} from "../products/domains/index.ts";

/** What one run did. */
export type CheckedDomains = {
  /** Whose removal has begun. */
  readonly purged: number;
  /** Whose last job had failed, and that have another one. */
  readonly applied: number;
  readonly expired: number;
  /** Ended claims that were deleted. */
  readonly deleted: number;
  readonly proven: number;
  readonly delegations: number;
};

/** What is due for domains, besides their jobs. Without a DNS file nobody is asked. */
export async function checkDomains(deps: Pick<Deps, "db" | "dns">): Promise<CheckedDomains> {
  const purged = await purgeDomains(deps.db);
  const ended = { ...(await endClaims(deps.db)), applied: await applyFailedDomains(deps.db) };
  const { dns } = deps;
  if (dns === null) return { purged, ...ended, proven: 0, delegations: 0 };
  const proven = await verifyPendingDomains(deps, dns);
  return { purged, ...ended, proven, delegations: await lookAtDelegations(deps, dns) };
}

/** Compares zones with the provider's. One that does not answer is asked again by the next run. */
export async function compareDomains(
  { db, log }: Pick<Deps, "db" | "log">,
  provider: DnsProvider,
  signal?: AbortSignal,
): Promise<number> {
  try {
    return await findDrift(db, provider, signal);
  } catch (error) {
    if (!(error instanceof DnsUnavailable)) throw error;
    log.warn({ err: error }, "the DNS provider does not answer; zones are compared later");
    return 0;
  }
}
