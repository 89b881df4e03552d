import type { OsFamily } from "../catalog/images.ts";
import type { Refusal } from "../decision.ts";
import { regionUnavailable } from "../refusals.ts";

/** Why a password cannot be set at the next start; null when it can. */
export function nextBootDefect(osFamily: OsFamily): string | null {
  return osFamily === "windows"
    ? "must be now: a Windows password is set by the guest agent of the running server"
    : null;
}

/** The facts that decide whether a new password can be set. */
export type PasswordResetFacts = {
  /** A password for Windows has to be sealed to the region's agent. */
  readonly needsSealedPassword: boolean;
  readonly regionHasAgentKey: boolean;
  readonly region: string;
};

/** Reasons against it beyond the server's state and its guest agent; an empty list allows it. */
export function decidePasswordReset(facts: PasswordResetFacts): Refusal<"region_unavailable">[] {
  return facts.needsSealedPassword && !facts.regionHasAgentKey ? [agentKeyUnknown(facts.region)] : [];
}

/** A Windows password is sealed for the agent, and there is no key to seal it to. */
export function agentKeyUnknown(region: string): Refusal<"region_unavailable"> {
  return regionUnavailable(
    "region_agent_key_known",
    `The agent of region ${region} has not reported its public key, so a Windows password cannot be handed to it safely`,
    { resource: region, fix: "Wait until the region's agent has reported its health" },
  );
}
