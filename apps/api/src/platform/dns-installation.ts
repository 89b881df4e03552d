import type { ResolveSettings } from "@kule/dns/resolve";
import {
  type DnsFile,
  type NameServerPattern,
  ofTheInternet,
  type Resolving,
} from "@kule/region-config/dns-file";

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
  return { nameServers, resolving: settingsOf(resolving), reverseZones };
}

/** How names of the Internet are asked for, also by an installation that serves no domains. */
export const resolvingOf = (dns: DnsInstallation | null): ResolveSettings =>
  dns?.resolving ?? settingsOf(ofTheInternet);

function settingsOf({ start, port, allowPrivate }: Resolving): ResolveSettings {
  return { start, port, ...(allowPrivate ? { mayAsk: () => true } : {}) };
}
