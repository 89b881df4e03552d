import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

const statusTones = {
  pending: "warning",
  expired: "bad",
  lost: "bad",
  provisioning: "busy",
  active: "good",
  updating: "busy",
  error: "bad",
  pending_deletion: "warning",
  deleting: "busy",
} as const satisfies Record<Schemas["DomainStatus"], Tone>;

export const delegationTones = {
  unknown: "idle",
  none: "warning",
  elsewhere: "warning",
  partial: "warning",
  right: "good",
} as const satisfies Record<Schemas["Domain"]["delegation"]["state"], Tone>;

/** The tone of a domain, in which drift and a failed change of a served domain show as well. */
export function toneOf({ status, status_reason, drift }: Schemas["Domain"]): Tone {
  if (status_reason !== null) return "bad";
  return drift !== null && status === "active" ? "warning" : statusTones[status];
}

/** Its status in words; a served domain that differs on its name servers says so beside its tone. */
export function statusText({ messages }: View, { status, drift }: Schemas["Domain"]): string {
  const text = messages.domains;
  return drift !== null && status === "active" ? text.differs(text.status[status]) : text.status[status];
}

/** Whether the name servers have it, or are to have it. */
export function isProven({ status }: Pick<Schemas["Domain"], "status">): boolean {
  return status !== "pending" && status !== "expired" && status !== "lost";
}
