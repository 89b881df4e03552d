import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { authenticate } from "../access/authenticate.ts";
import { ApiError } from "../api-error.ts";
import { dispatch, type Handlers } from "../call.ts";
import type { ServerIdentity } from "../certificate.ts";
import type { Region } from "../region.ts";
import { decodeParameters, decodePath } from "./decode.ts";
import type { HttpFault, HttpFaults } from "./http-faults.ts";
import { type Outgoing, plain, refusal, success, write } from "./respond.ts";

const BODY_LIMIT_BYTES = 512 * 1024;
const HEADER_LIMIT_BYTES = 8 * 1024;
const HEADER_LIMIT_COUNT = 64;
const KEEP_ALIVE_MS = 5000;
const REQUESTS_PER_CONNECTION = 100;
const UNAUTHORIZED_DELAY_SECONDS = 3;
const METHODS = new Set(["GET", "POST", "PUT", "DELETE"]);

/** Makes something happen behind the driver's back, by name. */
type WorldCall = (name: string, args: readonly unknown[]) => unknown;

interface Target {
  readonly path: string;
  readonly query: string;
}

function splitTarget(url: string): Target {
  const mark = url.indexOf("?");
  return mark < 0
    ? { path: decodePath(url), query: "" }
    : { path: decodePath(url.slice(0, mark)), query: url.slice(mark + 1) };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Refusals that need no caller: method, transfer coding, path. */
function refuseShape(request: IncomingMessage, { path }: Target): Outgoing | undefined {
  const method = request.method ?? "GET";
  if (!METHODS.has(method)) return plain(501, `method '${method}' not available`, null);
  const coding = request.headers["transfer-encoding"];
  if (coding?.toLowerCase() === "chunked") return plain(501, "chunked transfer encoding not supported");
  if (coding !== undefined) return plain(501, `Unknown transfer encoding '${coding}'`);
  if (request.rawHeaders.length / 2 > HEADER_LIMIT_COUNT) return plain(400, "bad request");
  if (!path.startsWith("/api2/")) return plain(501, "no such uri");
  const format = path.split("/")[2];
  return format === "json" ? undefined : plain(501, `no formatter for uri ${path}, ${format}`);
}

/** Refusals that come after authentication and before the call. */
function refuseBody(request: IncomingMessage): Outgoing | undefined {
  const length = Number(request.headers["content-length"] ?? 0);
  if (length === 0) return undefined;
  const method = request.method ?? "GET";
  if (method !== "PUT" && method !== "POST") return plain(501, `Unexpected content for method '${method}'`);
  return length > BODY_LIMIT_BYTES ? plain(501, "for data too large") : undefined;
}

async function answer(
  region: Region,
  handlers: Handlers,
  request: IncomingMessage,
  target: Target,
): Promise<Outgoing> {
  const shape = refuseShape(request, target);
  if (shape !== undefined) return shape;
  const began = region.runtime.nowMs();
  const scale = region.runtime.timeScale;
  const unauthorized = async (reason: string): Promise<Outgoing> => {
    const left = UNAUTHORIZED_DELAY_SECONDS * scale * 1000 - (region.runtime.nowMs() - began);
    if (left > 0) await region.runtime.sleepMs(left);
    // No body, and nothing that says JSON.
    return plain(401, reason, null);
  };
  let authUser: string;
  try {
    authUser = authenticate(
      region.store,
      { authorization: request.headers.authorization, cookie: request.headers.cookie },
      Math.floor(began / 1000),
    );
  } catch (error) {
    if (error instanceof ApiError) return await unauthorized(error.message);
    throw error;
  }
  const refused = refuseBody(request);
  if (refused !== undefined) return refused;
  const body = await readBody(request);
  try {
    const method = request.method ?? "GET";
    const raw = decodeParameters(method, request.headers["content-type"], body, target.query);
    const path = target.path.slice("/api2/json".length);
    return success(await dispatch(region, handlers, { method, path, raw, authUser }));
  } catch (error) {
    if (error instanceof ApiError) {
      // 59x come from the proxy hop, whose text is not JSON; so does a refused content type.
      if (error.status >= 590 || error.status === 506) return plain(error.status, error.message);
      return refusal(error, region.version);
    }
    if (error instanceof Error)
      return refusal(new ApiError(500, `${error.message.trimEnd()}\n`), region.version);
    throw error;
  }
}

/** Handles one request, with whatever fault was asked for it. */
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
  const outgoing = await answer(region, handlers, request, target);
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
        // The client went away, or a defect of the lab: say so rather than hang.
        if (!response.headersSent && !response.destroyed) {
          const text = error instanceof Error ? error.message : "internal error";
          write(region.runtime, request, response, plain(500, text), undefined);
        }
      });
    },
  );
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION;
  return server;
}
