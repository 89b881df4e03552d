export const tiers = ["app", "mgmt", "data"] as const;
export type Tier = (typeof tiers)[number];

/** How a subnet reaches the internet: not, through a gateway, or never. */
export type Egress = "none" | "gateway" | "forbidden";

/** True if a gateway may ever be attached: `data` subnets never reach the internet. */
export function mayHaveEgress(tier: Tier): boolean {
  return tier !== "data";
}

/** What a subnet's reach is, from its tier and whether its network has a gateway. */
export function egressOf(tier: Tier, hasGateway: boolean): Egress {
  if (!mayHaveEgress(tier)) return "forbidden";
  return hasGateway ? "gateway" : "none";
}
