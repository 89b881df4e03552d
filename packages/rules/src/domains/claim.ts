/** That an organisation has, or wants to have, a domain. */
export type Claim = {
  readonly id: string;
  readonly organisationId: string;
  /** Canonical. */
  readonly name: string;
  readonly status: "pending" | "verified";
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
