// A stand-in for PowerDNS 4.7: its HTTP API, and a name server that answers from the zones made there.
//
// It keeps to what was tried with the real one (packages/dns runs one suite against both). Its answers are not signed: a
// zone with a key has its DNSKEY and a right DS, but no RRSIG, so a validating resolver refuses it once its parent has the
// DS. Zone transfers, dynamic updates and zone kinds besides Native are not part of it.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { PortTaken } from "../port-taken.ts";
import { answerApi, MAX_REQUEST_BYTES } from "./api.ts";
import { type ApiFaults, apiFaults } from "./api-faults.ts";
import { listenForQuestions } from "./dns-sockets.ts";
import { openZoneFiles } from "./zone-files.ts";

export interface DnsLabSettings {
  /** Zones and their keys are kept here. */
  readonly dataDir: string;
  readonly apiKey: string;
  /** 127.0.0.1 by default, for API and questions. */
  readonly address?: string;
  /** 0 (default) takes a free one. */
  readonly apiPort?: number;
  /** UDP and TCP; 0 (default) takes a free one. */
  readonly dnsPort?: number;
}

export interface DnsLab {
  /** Of the API, without a path. */
  readonly url: string;
  readonly address: string;
  readonly dnsPort: number;
  readonly faults: ApiFaults;
  close(): Promise<void>;
}

/** Starts it; zones of an earlier run in `dataDir` are there again. @throws PortTaken */
export async function startDnsLab(settings: DnsLabSettings): Promise<DnsLab> {
  const { apiKey, address = "127.0.0.1" } = settings;
  const files = openZoneFiles(settings.dataDir);
  const faults = apiFaults();
  const sockets = await listenForQuestions(files.zones, address, settings.dnsPort ?? 0);

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "GET", url = "/" } = request;
    const fault = faults.take(method, url);
    if (fault === "hang") return;
    if (fault === "cut") return void request.socket.destroy();
    if (fault === "error") return void send(response, 500, "Internal Server Error");
    const body = await readBody(request);
    if (body === null) return void send(response, 400, "Bad Request");
    const key = request.headers["x-api-key"];
    const answer = answerApi(files, apiKey, {
      method,
      url,
      apiKey: typeof key === "string" ? key : undefined,
      body,
    });
    if (fault === "lost-reply") return void request.socket.destroy();
    send(response, answer.status, answer.body);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => {
      if (!response.headersSent) send(response, 500, "Internal Server Error");
    });
  });
  try {
    await listen(server, address, settings.apiPort ?? 0);
  } catch (error) {
    await sockets.close();
    throw error;
  }
  const bound = server.address();
  const port = bound !== null && typeof bound === "object" ? bound.port : 0;
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${port}`,
    address,
    dnsPort: sockets.port,
    faults,
    close: async () => {
      server.closeAllConnections();
      await Promise.all([new Promise<void>((resolve) => server.close(() => resolve())), sockets.close()]);
    },
  };
}

function listen(server: Server, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new PortTaken(port) : error),
    );
    server.listen(port, address, resolve);
  });
}

/** Null when it is larger than PowerDNS takes. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes <= MAX_REQUEST_BYTES) chunks.push(chunk as Buffer);
  }
  return bytes > MAX_REQUEST_BYTES ? null : Buffer.concat(chunks).toString("utf8");
}

/** Every connection is for one call, as PowerDNS does it. */
function send(response: ServerResponse, status: number, body: unknown): void {
  if (body === undefined) return void response.writeHead(status, { Connection: "close" }).end();
  const isText = typeof body === "string";
  response
    .writeHead(status, {
      "Content-Type": isText ? "text/plain; charset=utf-8" : "application/json",
      Connection: "close",
    })
    .end(isText ? body : JSON.stringify(body));
}
