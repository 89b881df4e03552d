import { agentRuntime } from "@kule/agent/runtime";
import type { PayloadOf } from "@kule/contract/schemas";
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
 * The work on domains, with the provider and its key, which only the worker reads.
 *
 * @param path of the file that KULE_DNS_FILE names
 * @throws BadSettings for a file that is wrong, or a key that is not there
 */
export function dnsWork(
  path: string,
  installation: DnsInstallation,
  environment: Readonly<Record<string, string | undefined>>,
): OwnWork {
  const access = readDnsProvider(path, environment);
  if (typeof access === "string") throw new BadSettings(access);
  const world: DnsWorld = {
    provider: powerDnsProvider({
      url: access.url,
      serverId: access.serverId,
      apiKey: access.apiKey.reveal(),
    }),
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
