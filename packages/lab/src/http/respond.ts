import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { ApiError } from "../api-error.ts";
import type { Answer } from "../call.ts";
import type { Runtime } from "../runtime.ts";
import type { ProxmoxVersion } from "../schema/api-schema.ts";
import type { HttpFault } from "./http-faults.ts";

const GZIP_ABOVE_BYTES = 1024;

/** A response before it is written. `body` null = no content. */
export interface Outgoing {
  readonly status: number;
  readonly reason: string;
  readonly body: string | null;
  readonly json: boolean;
}

/** Only the first line of a message fits into the status line; bytes stay bytes. */
export function reasonPhrase(text: string): string {
  const line = text.split(/[\r\n]/)[0] ?? "";
  return Buffer.from(line)
    .toString("latin1")
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, " ");
}

export function success({ data, total }: Answer): Outgoing {
  const body = JSON.stringify({ data, ...(total === undefined || total === 0 ? {} : { total }) });
  return { status: 200, reason: "OK", body, json: true };
}

/** A refusal of the API proper. Before http-server 5.2.0 (8.4) the text was in the status line alone. */
export function refusal(error: ApiError, version: ProxmoxVersion): Outgoing {
  const body: Record<string, unknown> = { data: null };
  if (error.errors !== undefined) body.errors = error.errors;
  if (version !== "8.2") body.message = error.message;
  return { status: error.status, reason: error.message, body: JSON.stringify(body), json: true };
}

/** An answer of the HTTP server itself: the text is the body, and it is not JSON. */
export function plain(status: number, reason: string, body: string | null = reason): Outgoing {
  return { status, reason, body, json: false };
}

async function drip(
  runtime: Runtime,
  response: ServerResponse,
  body: Buffer,
  milliseconds: number,
): Promise<void> {
  for (const byte of body) {
    if (response.destroyed) return;
    response.write(Buffer.from([byte]));
    await runtime.sleepMs(milliseconds);
  }
  response.end();
}

/** Writes an answer the way pveproxy does; `fault` may spoil it on the way. */
export function write(
  runtime: Runtime,
  request: IncomingMessage,
  response: ServerResponse,
  outgoing: Outgoing,
  fault: HttpFault | undefined,
): void {
  if (response.destroyed) return;
  const now = new Date(runtime.nowMs());
  const garbage = fault?.action === "garbage";
  let body = Buffer.from(garbage ? '{"data":{"upid"::' : (outgoing.body ?? ""));
  // Node's own flag: the connection has had its maximum of requests, and the last answer is marked.
  const last =
    (response as { maxRequestsOnConnectionReached?: boolean }).maxRequestsOnConnectionReached === true;
  const headers: Record<string, string> = {
    "Cache-Control": "max-age=0",
    Pragma: "no-cache",
    Server: "pve-api-daemon/3.0",
    Date: now.toUTCString(),
    Expires: now.toUTCString(),
    Connection: outgoing.status >= 400 || last ? "close" : "Keep-Alive",
  };
  if (outgoing.json) headers["Content-Type"] = "application/json;charset=UTF-8";
  if (body.length > GZIP_ABOVE_BYTES && /gzip/.test(String(request.headers["accept-encoding"] ?? ""))) {
    body = gzipSync(body);
    headers["Content-Encoding"] = "gzip";
  }
  headers["Content-Length"] = String(fault?.action === "wrong-length" ? body.length + 100 : body.length);
  response.writeHead(outgoing.status, reasonPhrase(outgoing.reason), headers);
  if (fault?.action === "drip") {
    void drip(runtime, response, body, fault.milliseconds ?? 20);
  } else if (fault?.action === "wrong-length") {
    response.write(body, () => response.destroy());
  } else {
    response.end(body);
  }
}
