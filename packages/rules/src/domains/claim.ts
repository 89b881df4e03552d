/** That an organisation has, or wants to have, a domain. */
export type Claim = {
  readonly id: string;
  readonly organisationId: string;
  /** Canonical. */
  readonly name: string;
  readonly status: "pending" | "verified";
  /** The name servers that are its own; as long as the name is delegated to one of them nobody else can prove it. */
  readonly nameServers: readonly string[];
  /** It is verified, by nothing but its parent. */
  readonly isByParent: boolean;
  /** It is being removed, or waits for its removal. */
  readonly isLeaving: boolean;
  /** A change of it is on its way to the name servers. */
  readonly isBusy: boolean;
  /** In ms since 1970. */
  readonly claimedAtMs: number;
};

/** Claims that are not proven end after this time. */
export const claimLifetimeMs = 7 * 24 * 3_600_000;

/** Of one organisation at a time. */
export const maxPendingClaims = 20;

/** True for a claim that was not proven in time. A verified one never expires. */
export function isExpired({ status, claimedAtMs }: Claim, nowMs: number): boolean {
  return status === "pending" && nowMs >= claimedAtMs + claimLifetimeMs;
}
