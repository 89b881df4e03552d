import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

export const balancerTones = {
  provisioning: "busy",
  active: "good",
  updating: "busy",
  degraded: "warning",
  error: "bad",
  deleting: "busy",
} as const satisfies Record<Schemas["LoadBalancerStatus"], Tone>;

export const machineTones = {
  creating: "busy",
  serving: "good",
  behind: "busy",
  silent: "bad",
} as const satisfies Record<Schemas["LoadBalancerMachineState"], Tone>;

export const targetTones = {
  healthy: "good",
  unhealthy: "bad",
  unknown: "idle",
  draining: "warning",
} as const satisfies Record<Schemas["TargetStatus"], Tone>;

type Reason = NonNullable<Schemas["LoadBalancer"]["status_reason"]>;

/** Why the status is what it is. */
export function reasonText({ messages }: View, { code, message }: Reason): string {
  return messages.locale === "en" ? message : messages.loadBalancers.statusReasons[code];
}

/** Why a check failed. English has the port and the code in it, which other languages leave out. */
export function checkErrorText({ messages }: View, { code, message }: Schemas["CheckError"]): string {
  return messages.locale === "en" ? message : messages.loadBalancers.checkErrors[code];
}

/** `HTTPS 443`. */
export function listenerName(
  { messages }: View,
  { protocol, port }: Pick<Schemas["Listener"], "protocol" | "port">,
): string {
  return `${messages.loadBalancers.listener.protocolNames[protocol]} ${port}`;
}
