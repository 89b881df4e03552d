import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

export const networkTones = {
  provisioning: "busy",
  active: "good",
  updating: "busy",
  deleting: "busy",
  error: "bad",
} as const satisfies Record<Schemas["NetworkStatus"], Tone>;
