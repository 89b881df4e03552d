export type Upid = {
  readonly text: string;
  /** The node that runs the task; its status is read there, wherever the VM has been moved since. */
  readonly node: string;
  readonly startedAtSeconds: number;
  /** qmclone, qmstart, ... */
  readonly type: string;
  /** The VMID, which for qmclone is the source's. */
  readonly id: string;
  readonly user: string;
};

const UPID =
  /^UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/;

/** Null when the text is no UPID. */
export function parseUpid(text: unknown): Upid | null {
  const match = typeof text === "string" ? UPID.exec(text) : null;
  if (!match) return null;
  const [whole, node = "", , , started = "", type = "", id = "", user = ""] = match;
  return { text: whole, node, startedAtSeconds: Number.parseInt(started, 16), type, id, user };
}
