/** The control messages that are sent in addition to a console's bytes. */
export type ControlMessage =
  | { readonly type: "resize"; readonly cols: number; readonly rows: number }
  | { readonly type: "ack"; readonly bytes: number }
  | { readonly type: "open" };

export const longestControlMessage = 256;

const isNumber = (value: unknown, min: number, max: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;

/** The content of a text message; null when it is not a known one, which ends the connection. */
export function readControl(bytes: Buffer): ControlMessage | null {
  if (bytes.length > longestControlMessage) return null;
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { type, cols, rows, bytes: shown } = value;
  if (type === "open") return { type };
  if (type === "resize" && isNumber(cols, 1, 1000) && isNumber(rows, 1, 1000)) return { type, cols, rows };
  if (type === "ack" && isNumber(shown, 0, Number.MAX_SAFE_INTEGER)) return { type, bytes: shown };
  return null;
}

/**
 * Whether bytes for an RFB server are a person's input. A viewer requests updates automatically as long as
 * the screen changes, and that must not keep an abandoned session alive.
 */
export function isPersonsInput(type: "serial" | "vnc", bytes: Buffer): boolean {
  if (type === "serial") return true;
  for (let at = 0; at < bytes.length; at += 10) if (bytes[at] !== 3) return true;
  return false;
}
