/** The parts of a unique task id. */
export interface Upid {
  readonly node: string;
  readonly pid: number;
  readonly pstart: number;
  readonly starttime: number;
  readonly type: string;
  readonly id: string;
  readonly user: string;
}

const UPID =
  /^UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/;

/** Undefined when the text is no UPID. */
export function parseUpid(text: string): Upid | undefined {
  const match = UPID.exec(text);
  if (match === null) return undefined;
  const [, node = "", pid = "", pstart = "", start = "", type = "", id = "", user = ""] = match;
  const hex = (digits: string): number => Number.parseInt(digits, 16);
  return { node, pid: hex(pid), pstart: hex(pstart), starttime: hex(start), type, id, user };
}

/** Renders the text form. */
export function formatUpid(upid: Upid): string {
  const hex = (value: number): string => value.toString(16).toUpperCase().padStart(8, "0");
  return `UPID:${upid.node}:${hex(upid.pid)}:${hex(upid.pstart)}:${hex(upid.starttime)}:${upid.type}:${upid.id}:${upid.user}:`;
}
