import type { ResolveSettings } from "@kule/dns/resolve";
import type { DnsFile, NameServerPattern } from "@kule/region-config/dns-file";

/** The installation's DNS as operations use it. The provider and its key are the worker's alone. */
export type DnsInstallation = {
  readonly nameServers: readonly NameServerPattern[];
  /** How names of the Internet are asked for. */
  readonly resolving: ResolveSettings;
  /** Blocks whose reverse zones are Kule's, such as `192.0.2.0/24`. */
  readonly reverseZones: readonly string[];
};

/** What the file of the installation's DNS says, for the processes that work with it. */
export function dnsInstallation({ nameServers, resolving, reverseZones }: DnsFile): DnsInstallation {
  const { start, port, allowPrivate } = resolving;
  return {
    nameServers,
    resolving: { start, port, ...(allowPrivate ? { mayAsk: () => true } : {}) },
    reverseZones,
  };
}
