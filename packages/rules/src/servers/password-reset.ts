import type { Refusal } from "../decision.ts";

/** What decides whether a guest can be told a new password now. */
export type PasswordResetFacts = {
  readonly id: string;
  readonly when: "now" | "next_boot";
  readonly isRunning: boolean;
  /** Whether the guest's agent answers, as far as the region has said; null when it has not. */
  readonly agentAnswers: boolean | null;
  /** A password for Windows has to be sealed to the region's agent. */
  readonly needsSealedPassword: boolean;
  readonly regionHasAgentKey: boolean;
  readonly region: string;
};

/** Everything that stands in the way beyond the server's state; an empty list lets it through. */
export function decidePasswordReset(
  facts: PasswordResetFacts,
): Refusal<"guest_agent_unavailable" | "region_unavailable">[] {
  const refusals: Refusal<"guest_agent_unavailable" | "region_unavailable">[] = [];
  if (facts.when === "now" && (!facts.isRunning || facts.agentAnswers === false))
    refusals.push({
      name: "guest_agent_answers",
      code: "guest_agent_unavailable",
      message: facts.isRunning
        ? "The server's guest agent does not answer, and nobody else can set a password while it runs"
        : "The server is not running, so its guest agent cannot set a password",
      resource: facts.id,
      fix: `POST /servers/${facts.id}/password-reset {"when":"next_boot"}`,
    });
  if (facts.needsSealedPassword && !facts.regionHasAgentKey) refusals.push(agentKeyUnknown(facts.region));
  return refusals;
}

/** A Windows password is handed over sealed, and there is no key to seal it to. */
export function agentKeyUnknown(region: string): Refusal<"region_unavailable"> {
  return {
    name: "region_agent_key_known",
    code: "region_unavailable",
    message: `The agent of region ${region} has not reported its public key, so a Windows password cannot be handed to it safely`,
    resource: region,
    fix: "Wait until the region's agent has reported its health",
  };
}
