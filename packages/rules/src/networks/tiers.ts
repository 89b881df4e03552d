import type { Refusal } from "../decision.ts";
import { tierForbidsEgress } from "../refusals.ts";

export const tiers = ["app", "mgmt", "data"] as const;
export type Tier = (typeof tiers)[number];

/** How a subnet reaches the internet: not, through a gateway, or never. */
export type Egress = "none" | "gateway" | "forbidden";

/** True if a gateway may ever be attached: `data` subnets never reach the internet. */
export function mayHaveEgress(tier: Tier): boolean {
  return tier !== "data";
}

/** The reach of a subnet, by its tier and whether a gateway serves it. */
export function egressOf(tier: Tier, isLetOut: boolean): Egress {
  if (!mayHaveEgress(tier)) return "forbidden";
  return isLetOut ? "gateway" : "none";
}

/** Whether a server of the subnet may have a public address: it would be a way out past every gateway. */
export function refusePublicAddress(subnet: {
  readonly id: string;
  readonly tier: Tier;
}): Refusal<"tier_forbids_egress"> | null {
  if (mayHaveEgress(subnet.tier)) return null;
  return tierForbidsEgress(
    "subnet_may_have_egress",
    `A server in a ${subnet.tier} subnet can have no public address: such subnets never reach the internet`,
    { resource: subnet.id, fix: "Put the server into a subnet of tier app or mgmt" },
  );
}
