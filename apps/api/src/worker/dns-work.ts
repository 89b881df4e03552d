import { agentRuntime } from "@kule/agent/runtime";
import type { PayloadOf } from "@kule/contract/schemas";
import type { DnsProvider } from "@kule/dns/dns-provider";
import { powerDnsProvider } from "@kule/dns/powerdns";
import type { DnsWorld } from "@kule/programs/domains/dns-world";
import { applyDomain } from "@kule/programs/domains/program";
import type { Job } from "@kule/programs/program";
import { runProgram } from "@kule/programs/run-program";
import { readDnsProvider } from "@kule/region-config/dns-file";
import type { DnsInstallation } from "../platform/dns-installation.ts";
import { BadSettings } from "../platform/settings.ts";
import type { OwnWork } from "./own-jobs.ts";

/**
 * The provider, with its key, which only the worker reads.
 *
 * @param path of the file that KULE_DNS_FILE names
 * @throws BadSettings for a file that is wrong, or a key that is not there
 */
export function openDnsProvider(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): DnsProvider {
  const access = readDnsProvider(path, environment);
  if (typeof access === "string") throw new BadSettings(access);
  return powerDnsProvider({
    url: access.url,
    serverId: access.serverId,
    apiKey: access.apiKey.reveal(),
  });
}

/** The work on domains at that provider. */
export function dnsWork(provider: DnsProvider, installation: DnsInstallation): OwnWork {
  const world: DnsWorld = {
    provider,
    nameServers: installation.nameServers.flatMap(({ addresses, port }) =>
      addresses.map((address) => ({ address, port })),
    ),
    runtime: agentRuntime,
  };
  return {
    kinds: ["DomainApply"],
    // The queue gives this loop no other kind.
    run: (job, host) => runProgram(applyDomain, job as Job<PayloadOf<"DomainApply">>, world, host),
  };
}
