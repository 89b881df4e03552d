import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { ApiError } from "../api-error.ts";
import type { Handlers } from "../call.ts";
import type { ServerIdentity } from "../certificate.ts";
import type { Region } from "../region.ts";
import { answer, splitTarget } from "./answer.ts";
import { consoleUpgrades } from "./console-upgrade.ts";
import type { HttpFault, HttpFaults } from "./http-faults.ts";
import { type Outgoing, plain, refusal, write } from "./respond.ts";

const HEADER_LIMIT_BYTES = 8 * 1024;
const KEEP_ALIVE_MS = 5000;
const REQUESTS_PER_CONNECTION = 100;
const UNAUTHORIZED_DELAY_SECONDS = 3;

/** Makes a change that the driver does not make, by name. */
type WorldCall = (name: string, args: readonly unknown[]) => unknown;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Handles one request, with its fault if there is one. */
async function handle(
  region: Region,
  handlers: Handlers,
  faults: HttpFaults,
  world: WorldCall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = splitTarget(request.url ?? "/");
  const fault = faults.match(request.method ?? "GET", target.path.replace(/^\/api2\/json/, ""));
  const instead = (f: HttpFault): Outgoing => {
    const status = f.status ?? 500;
    const reason = f.reason ?? "fault asked for";
    return status >= 590 || status === 401
      ? plain(status, reason, status === 401 ? null : reason)
      : refusal(new ApiError(status, `${reason}\n`), region.version);
  };
  switch (fault?.action) {
    case "drop-before":
      request.socket.destroy();
      return;
    case "hang-before":
      return;
    case "status-before":
      if (fault.status === 401) await region.runtime.wait(UNAUTHORIZED_DELAY_SECONDS);
      request.resume();
      write(region.runtime, request, response, instead(fault), fault);
      return;
    case "world-before":
      world(fault.do ?? "", fault.args ?? []);
      break;
    case "delay":
      await region.runtime.sleepMs(fault.milliseconds ?? 1000);
      break;
    default:
  }
  const outgoing = await answer(region, handlers, {
    method: request.method ?? "GET",
    target,
    headers: request.headers,
    headerCount: request.rawHeaders.length / 2,
    body: () => readBody(request),
  });
  if (fault?.action === "world-after") world(fault.do ?? "", fault.args ?? []);
  if (fault?.action === "drop-after") request.socket.destroy();
  else if (fault?.action === "hang-after") return;
  else {
    const spoiled = fault?.action === "status-after" ? instead(fault) : outgoing;
    write(region.runtime, request, response, spoiled, fault);
  }
}

/** The API over TLS, as pveproxy serves it. Not yet listening. */
export function apiServer(
  region: Region,
  handlers: Handlers,
  faults: HttpFaults,
  world: WorldCall,
  identity: ServerIdentity,
): Server {
  const server = createServer(
    {
      key: identity.keyPem,
      cert: identity.certificatePem,
      maxHeaderSize: HEADER_LIMIT_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveTimeoutBuffer: 0,
    },
    (request, response) => {
      handle(region, handlers, faults, world, request, response).catch((error: unknown) => {
        // The client has disconnected, or a defect of the lab: answer an error rather than hang.
        if (!response.headersSent && !response.destroyed) {
          const text = error instanceof Error ? error.message : "internal error";
          write(region.runtime, request, response, plain(500, text), undefined);
        }
      });
    },
  );
  server.on("upgrade", consoleUpgrades(region, handlers, faults));
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION;
  return server;
}
