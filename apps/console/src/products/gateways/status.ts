import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

export const gatewayTones = {
  provisioning: "busy",
  active: "good",
  updating: "busy",
  deleting: "busy",
  error: "bad",
} as const satisfies Record<Schemas["GatewayStatus"], Tone>;

export const servedTones = {
  attaching: "busy",
  ready: "good",
  detaching: "busy",
} as const satisfies Record<Schemas["GatewaySubnet"]["status"], Tone>;

export const forwardTones = {
  provisioning: "busy",
  active: "good",
  deleting: "busy",
} as const satisfies Record<Schemas["PortForward"]["status"], Tone>;
