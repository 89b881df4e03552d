import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** Why a connection does not become a websocket. The same text for everything that a ticket can have wrong. */
export class UpgradeRefused extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | null;
  constructor(status: number, code: string, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
    this.status = status;
    this.code = code;
  }
}

export function refuseUpgrade(
  socket: Duplex,
  { status, code, message, retryAfterSeconds }: UpgradeRefused,
): void {
  const title = STATUS_CODES[status] ?? "Error";
  const body = JSON.stringify({ type: "about:blank", title, status, code, detail: message });
  socket.end(
    [
      `HTTP/1.1 ${status} ${title}`,
      "Content-Type: application/problem+json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Cache-Control: no-store",
      ...(retryAfterSeconds === null ? [] : [`Retry-After: ${retryAfterSeconds}`]),
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}
