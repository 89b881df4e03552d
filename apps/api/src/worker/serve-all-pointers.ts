import { type DnsProvider, DnsUnavailable } from "@kule/dns/dns-provider";
import { laggingServers } from "@kule/programs/domains/lagging-servers";
import { ownNameServers } from "@kule/rules/domains/ownership-proof";
import type { Deps } from "../platform/deps.ts";
import { comparePointers, servePointers } from "../products/public-ips/index.ts";

/** Stands in the names of name servers where domains have their own label. */
const reverseLabel = "reverse";

/**
 * Brings all reverse names that are due to the name servers.
 *
 * @param provider null: this worker has none, so no reverse zone is served
 * @returns how many are as wanted now
 * @throws DnsUnavailable or PointersLag when they cannot be served yet: the task is tried again
 */
export async function serveAllPointers(
  { db, dns }: Pick<Deps, "db" | "dns">,
  provider: DnsProvider | null,
  signal?: AbortSignal,
): Promise<number> {
  const service =
    provider === null || dns === null
      ? null
      : {
          provider,
          reverseZones: dns.reverseZones,
          nameServers: ownNameServers(
            dns.nameServers.map(({ pattern }) => pattern),
            reverseLabel,
          ).all.map((name) => `${name}.`),
          lagging: (zone: string, serial: number) =>
            laggingServers(
              dns.nameServers.flatMap(({ addresses, port }) =>
                addresses.map((address) => ({ address, port })),
              ),
              zone,
              serial,
            ),
        };
  let served = 0;
  for (;;) {
    const run = await servePointers(db, service, signal);
    served += run.served;
    if (run.isAll) return served;
  }
}

/**
 * Compares the reverse zones with the wanted names and puts right what differs. A provider that does not answer is asked
 * again by the next run.
 *
 * @returns how many names differed
 */
export async function compareAllPointers(
  deps: Pick<Deps, "db" | "dns" | "log">,
  provider: DnsProvider | null,
  signal?: AbortSignal,
): Promise<number> {
  if (provider === null || deps.dns === null) return 0;
  try {
    const differing = await comparePointers(deps.db, { provider, blocks: deps.dns.reverseZones }, signal);
    if (differing > 0) await serveAllPointers(deps, provider, signal);
    return differing;
  } catch (error) {
    if (!(error instanceof DnsUnavailable)) throw error;
    deps.log.warn({ err: error }, "the DNS provider does not answer; reverse names are compared later");
    return 0;
  }
}
