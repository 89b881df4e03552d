import type { Refusal } from "../decision.ts";
import { regionUnavailable } from "../refusals.ts";

/** What decides whether a new password can be handed over. */
export type PasswordResetFacts = {
  /** A password for Windows has to be sealed to the region's agent. */
  readonly needsSealedPassword: boolean;
  readonly regionHasAgentKey: boolean;
  readonly region: string;
};

/** What stands in the way beyond the server's state and its guest's agent; an empty list lets it through. */
export function decidePasswordReset(facts: PasswordResetFacts): Refusal<"region_unavailable">[] {
  return facts.needsSealedPassword && !facts.regionHasAgentKey ? [agentKeyUnknown(facts.region)] : [];
}

/** A Windows password is handed over sealed, and there is no key to seal it to. */
export function agentKeyUnknown(region: string): Refusal<"region_unavailable"> {
  return regionUnavailable(
    "region_agent_key_known",
    `The agent of region ${region} has not reported its public key, so a Windows password cannot be handed to it safely`,
    { resource: region, fix: "Wait until the region's agent has reported its health" },
  );
}
