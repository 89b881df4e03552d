import type { PlatformRuleName } from "../firewalls/firewall.ts";
import type { ProbeProtocol } from "../firewalls/verdict.ts";

export type Endpoint =
  | { readonly kind: "server"; readonly serverId: string }
  /** As the sender, a machine in the internet. */
  | { readonly kind: "address"; readonly address: string };

/** Whether the first packet of a flow arrives, and its answer comes back. */
export type Question = {
  readonly from: Endpoint;
  readonly to: Endpoint;
  readonly protocol: ProbeProtocol;
  /** Of TCP and UDP. */
  readonly port: number | null;
  /** The forged source address, when there is one. */
  readonly source?: string;
};

/** The decision at one place of a packet's way. */
export type Decision =
  /** Private networks share nothing with one another, nor with the internet. */
  | { readonly by: "isolation"; readonly networkId: string | null }
  | { readonly by: "tier"; readonly subnetId: string }
  /** It lets out packets of subnets that it serves; null: there is none. */
  | { readonly by: "gateway"; readonly gatewayId: string | null; readonly subnetId: string | null }
  | { readonly by: "port_forward"; readonly gatewayId: string; readonly portForwardId: string }
  | { readonly by: "firewall_rule"; readonly firewallId: string; readonly ruleId: string }
  /** A filtered server lets in what a rule allows, and lets out what none forbids. */
  | { readonly by: "firewall_default"; readonly direction: "in" | "out" }
  | { readonly by: "no_firewall" }
  | { readonly by: "platform"; readonly rule: PlatformRuleName | "router_echo" | "no_ipv6" }
  /** The guest's own routes: with a public address, everything but its own network goes out by that one's interface. */
  | { readonly by: "route"; readonly serverId: string }
  /** Within one subnet, from one subnet of a network to another, or by a public address. */
  | { readonly by: "subnet"; readonly subnetId: string }
  | { readonly by: "network"; readonly networkId: string }
  | { readonly by: "public_address"; readonly address: string }
  | { readonly by: "itself"; readonly serverId: string }
  /** An address that is not in the intent. */
  | { readonly by: "nobody"; readonly address: string };

export type Place =
  | "sender"
  | "sender_filter"
  | "router"
  | "gateway"
  | "internet"
  | "receiver_filter"
  | "receiver";

export type Check = { readonly place: Place; readonly isAllowed: boolean; readonly decision: Decision };

export type Verdict = {
  readonly isAllowed: boolean;
  /** What refused it or, for one that arrives, what allowed it where it might have been refused. */
  readonly decision: Decision;
  /** In the order in which the packet meets them, up to the first that refuses. */
  readonly checks: readonly Check[];
};

/** The decisions about a packet so far. */
export class Trace {
  readonly checks: Check[] = [];

  passes(place: Place, decision: Decision): void {
    this.checks.push({ place, isAllowed: true, decision });
  }

  /** To be thrown. */
  stop(place: Place, decision: Decision): Stopped {
    this.checks.push({ place, isAllowed: false, decision });
    return new Stopped(decision);
  }
}

/** Ends a packet's way; never leaves this package. */
export class Stopped {
  readonly decision: Decision;

  constructor(decision: Decision) {
    this.decision = decision;
  }
}
