import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

export const serverStatuses = [
  "creating",
  "running",
  "stopped",
  "starting",
  "stopping",
  "rebooting",
  "resizing",
  "rebuilding",
  "pending_deletion",
  "deleting",
  "error",
] as const satisfies readonly Schemas["ServerStatus"][];

const tones: Readonly<Record<Schemas["ServerStatus"], Tone>> = {
  creating: "busy",
  running: "good",
  stopped: "idle",
  starting: "busy",
  stopping: "busy",
  rebooting: "busy",
  resizing: "busy",
  rebuilding: "busy",
  pending_deletion: "warning",
  deleting: "busy",
  error: "bad",
};

/** The tone of a status. A status that this console does not know is idle. */
export function serverTone(status: Schemas["ServerStatus"]): Tone {
  return tones[status] ?? "idle";
}
