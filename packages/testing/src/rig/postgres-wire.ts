/** One message of Postgres' protocol, with its header; the type is "" where the protocol has none (at the start). */
export type WireMessage = { readonly type: string; readonly bytes: Buffer };

/** Cuts a stream of Postgres' protocol (version 3) into messages. */
export class WireReader {
  #rest: Buffer = Buffer.alloc(0);
  #hasStarted: boolean;

  /** @param side the client begins with messages that have no type; the server never does */
  constructor(side: "client" | "server") {
    this.#hasStarted = side === "server";
  }

  /** @returns the messages that are complete now */
  read(chunk: Buffer): WireMessage[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: WireMessage[] = [];
    for (;;) {
      const header = this.#hasStarted ? 1 : 0;
      if (this.#rest.length < header + 4) return messages;
      const length = header + this.#rest.readInt32BE(header);
      if (this.#rest.length < length) return messages;
      const bytes = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      messages.push({ type: header === 0 ? "" : String.fromCharCode(bytes[0] ?? 0), bytes });
      // Requests for TLS or GSS (80877103, 80877104) are sent before the real start.
      const code = header === 0 ? bytes.readInt32BE(4) : 0;
      if (header === 0 && code !== 80_877_103 && code !== 80_877_104) this.#hasStarted = true;
    }
  }
}

/** The zero-terminated text at the offset. */
export function textAt(bytes: Buffer, offset: number): string {
  const end = bytes.indexOf(0, offset);
  return bytes.toString("utf8", offset, end < 0 ? bytes.length : end);
}

/** Follows what a client executes, by simple queries and by prepared statements. */
export class StatementReader {
  readonly #prepared = new Map<string, string>();
  readonly #portals = new Map<string, string>();

  /** The text that this message has executed, or null when it executes nothing. */
  statementOf({ type, bytes }: WireMessage): string | null {
    const first = type === "" ? "" : textAt(bytes, 5);
    const afterFirst = 5 + Buffer.byteLength(first) + 1;
    switch (type) {
      case "Q":
        return first;
      case "P":
        this.#prepared.set(first, textAt(bytes, afterFirst));
        return null;
      case "B":
        this.#portals.set(first, this.#prepared.get(textAt(bytes, afterFirst)) ?? "");
        return null;
      case "E":
        return this.#portals.get(first) ?? "";
      default:
        return null;
    }
  }
}
