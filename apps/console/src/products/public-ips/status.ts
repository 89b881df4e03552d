import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

export const publicIpTones = {
  free: "idle",
  attaching: "busy",
  attached: "good",
  detaching: "busy",
} as const satisfies Record<Schemas["PublicIpStatus"], Tone>;

/** The tone of an address, including its errors and whether its guest is configured. */
export function toneOf(ip: Pick<Schemas["PublicIp"], "status" | "status_reason" | "requires_reboot">): Tone {
  if (ip.status_reason !== null) return "bad";
  return ip.requires_reboot ? "warning" : publicIpTones[ip.status];
}
