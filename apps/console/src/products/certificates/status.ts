import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { sentence } from "../../problem-messages.ts";

export const certificateTones = {
  pending: "busy",
  issuing: "busy",
  active: "good",
  renewing: "busy",
  failed: "bad",
  expired: "bad",
  needs_material: "bad",
} as const satisfies Record<Schemas["CertificateStatus"], Tone>;

/** How near the end is: within a week, within 30 days, or neither. */
export function daysTone(daysLeft: number): "bad" | "warning" | null {
  if (daysLeft < 7) return "bad";
  return daysLeft < 30 ? "warning" : null;
}

/** Why the last attempt to have it issued has failed. English shows the API's own words. */
export function errorText({ messages }: View, { code, message }: Schemas["CertificateError"]): string {
  return messages.locale === "en" ? sentence(message, "en") : messages.certificates.errors[code];
}

/** What stands in the way of a name's proof; null: nothing. English shows the API's own words. */
export function proofProblemText(
  { messages }: View,
  { problem, problem_code }: Schemas["CertificateChallenge"],
): string | null {
  if (problem === null || problem_code === null) return null;
  return messages.locale === "en"
    ? sentence(problem, "en")
    : messages.certificates.proofs.problems[problem_code];
}

/** What was accepted and should be known. */
export function warningText({ messages }: View, { code, message }: Schemas["CertificateWarning"]): string {
  return messages.locale === "en" ? sentence(message, "en") : messages.certificates.warnings[code];
}
