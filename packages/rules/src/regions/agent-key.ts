export type AgentKeyFacts = {
  /** The key that secrets are sealed to; null before an agent of the region has reported one. */
  readonly inUse: string | null;
  /** Another key that waits for an operator. */
  readonly pending: string | null;
  /** How long ago an agent reported the waiting one; null without one. */
  readonly pendingAgeSeconds: number | null;
};

/** `first`: from now on in use; `wait`: to be kept for an operator; `again`: it waits already; `aside`: another one waits. */
export type ReportedKey = "in_use" | "first" | "wait" | "again" | "aside";

/**
 * An agent reports its key every 20 seconds: one that was not reported for this long can be replaced by
 * another.
 */
export const pendingKeySilentSeconds = 60;

/**
 * What a reported key is to its region. The first is trusted, because the region is being set up then; a
 * thief of the agent's token could report any later one, so that it needs an operator. One waits at a time,
 * so that the audit trail cannot be flooded.
 */
export function judgeReportedKey(
  key: string,
  { inUse, pending, pendingAgeSeconds }: AgentKeyFacts,
): ReportedKey {
  if (inUse === null) return "first";
  if (key === inUse) return "in_use";
  if (key === pending) return "again";
  const isFree = pending === null || (pendingAgeSeconds ?? 0) > pendingKeySilentSeconds;
  return isFree ? "wait" : "aside";
}

export type SecretHolderFacts = {
  readonly inUse: string | null;
  /** The key of the agent that claims; null when it does not name it. */
  readonly claimed: string | null;
  /**
   * How long ago an agent reported the key in use; null when it was never reported since this is recorded.
   */
  readonly inUseAgeSeconds: number | null;
  /** How long ago an agent reported the waiting key; null without one. */
  readonly pendingAgeSeconds: number | null;
};

/**
 * Whether a job with a sealed secret may be assigned to the agent that claims. An agent that does not name
 * its key is assigned the job unless only another key was reported recently.
 */
export function mayTakeSecret({
  inUse,
  claimed,
  inUseAgeSeconds,
  pendingAgeSeconds,
}: SecretHolderFacts): boolean {
  if (inUse === null) return true;
  if (claimed !== null) return claimed === inUse;
  const isOtherThere = pendingAgeSeconds !== null && pendingAgeSeconds <= pendingKeySilentSeconds;
  const isOwnThere = inUseAgeSeconds === null || inUseAgeSeconds <= pendingKeySilentSeconds;
  return isOwnThere || !isOtherThere;
}
