import type { ServerAddress } from "@kule/dns/ask-name-server";
import type { DnsProvider } from "@kule/dns/dns-provider";
import type { AnyWorld } from "../program.ts";

/** Everything outside the program of a domain's job. */
export type DnsWorld = AnyWorld & {
  readonly provider: DnsProvider;
  /** The installation's own name servers, where the control plane asks them. None: no answer is waited for. */
  readonly nameServers: readonly ServerAddress[];
};
