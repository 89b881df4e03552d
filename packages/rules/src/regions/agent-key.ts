export type AgentKeyFacts = {
  /** What secrets are sealed to; null before an agent of the region has told a key. */
  readonly inUse: string | null;
  /** Another key that waits for an operator. */
  readonly pending: string | null;
  /** How long ago an agent told the one that waits; null without one. */
  readonly pendingAgeSeconds: number | null;
};

/** `first`: from now on in use; `wait`: to be kept for an operator; `again`: it waits already; `aside`: another one waits. */
export type ReportedKey = "in_use" | "first" | "wait" | "again" | "aside";

/** An agent tells its key every 20 seconds: one that was not told for so long makes room for another. */
export const pendingKeySilentSeconds = 60;

/**
 * What an agent's key is to its region. The first is believed, as the region is set up then; whoever has the agent's
 * token could tell any later one, so that it takes an operator. One waits at a time: nobody fills the audit trail.
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
  /** The key of whoever wants the secret; null when it does not say. */
  readonly claimed: string | null;
  /** How long ago an agent told the key in use; null when none has since it is noted. */
  readonly inUseAgeSeconds: number | null;
  /** How long ago an agent told the key that waits; null without one. */
  readonly pendingAgeSeconds: number | null;
};

/**
 * Whether a job with a sealed secret may go to who asks for it. An agent that does not say its key is given the job
 * unless only another key was told of late.
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
