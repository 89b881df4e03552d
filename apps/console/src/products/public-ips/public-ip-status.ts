import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

export const publicIpTones = {
  free: "idle",
  attaching: "busy",
  attached: "good",
  detaching: "busy",
} as const satisfies Record<Schemas["PublicIpStatus"], Tone>;
