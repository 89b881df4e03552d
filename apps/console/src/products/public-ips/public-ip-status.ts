import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

export const publicIpTones = {
  free: "idle",
  attaching: "busy",
  attached: "good",
  detaching: "busy",
} as const satisfies Record<Schemas["PublicIpStatus"], Tone>;

/** The tone of an address with what went wrong with it, and with what its guest does not know yet. */
export function toneOf(ip: Pick<Schemas["PublicIp"], "status" | "status_reason" | "requires_reboot">): Tone {
  if (ip.status_reason !== null) return "bad";
  return ip.requires_reboot ? "warning" : publicIpTones[ip.status];
}
