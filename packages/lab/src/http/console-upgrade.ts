import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { authenticate } from "../access/authenticate.ts";
import { ApiError } from "../api-error.ts";
import { dispatch, type Handlers } from "../call.ts";
import { webSocketClient } from "../console/console-client.ts";
import { type ConsoleListener, endListener, takeListener } from "../console/console-listeners.ts";
import { TermSession } from "../console/term-session.ts";
import { VncSession } from "../console/vnc-session.ts";
import type { Region } from "../region.ts";
import { splitTarget } from "./answer.ts";
import { decodeParameters } from "./decode.ts";
import type { HttpFaults } from "./http-faults.ts";
import { reasonPhrase } from "./respond.ts";

const PAYLOAD_BYTES = 128 * 1024;

/**
 * Makes websockets of requests for `vncwebsocket`, as pveproxy does: authenticated by the same header as every call,
 * checked like one, and joined to the listener of that port on the node that answered the POST.
 */
export function consoleUpgrades(
  region: Region,
  handlers: Handlers,
  faults: HttpFaults,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: PAYLOAD_BYTES,
    perMessageDeflate: false,
    handleProtocols: (protocols) => (protocols.has("binary") ? "binary" : false),
  });
  return (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    const target = splitTarget(request.url ?? "/");
    const path = target.path.replace(/^\/api2\/json/, "");
    const fault = faults.match(request.method ?? "GET", path);
    if (fault?.action === "drop-before") return void socket.destroy();
    if (fault?.action === "hang-before") return;
    if (fault?.action === "status-before")
      return refuse(socket, fault.status ?? 500, fault.reason ?? "fault asked for");
    admit(region, handlers, request, path, target.query).then(
      (listener) =>
        server.handleUpgrade(request, socket, head, (webSocket) => serve(region, listener, webSocket)),
      (error: unknown) => {
        if (error instanceof ApiError) refuse(socket, error.status, error.message);
        else refuse(socket, 500, error instanceof Error ? error.message : "internal error");
      },
    );
  };
}

async function admit(
  region: Region,
  handlers: Handlers,
  request: IncomingMessage,
  path: string,
  query: string,
): Promise<ConsoleListener> {
  const { authorization, cookie } = request.headers;
  const now = Math.floor(region.runtime.nowMs() / 1000);
  const authUser = authenticate(region.store, { authorization, cookie }, now);
  const raw = decodeParameters("GET", undefined, "", query);
  const found = region.schema.find("GET", path);
  if (found?.endpoint.path.endsWith("/vncwebsocket") !== true) throw new ApiError(501, "no such uri");
  const { data } = await dispatch(region, handlers, { method: "GET", path, raw, authUser });
  const port = Number((data as { readonly port: string }).port);
  const listener = takeListener(region, found.uri.node ?? "", port);
  if (listener === undefined) throw new ApiError(596, `connect to localhost:${port}: Connection refused`);
  return listener;
}

function refuse(socket: Duplex, status: number, text: string): void {
  socket.end(
    `HTTP/1.1 ${status} ${reasonPhrase(text)}\r\nServer: pve-api-daemon/3.0\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
}

function serve(region: Region, listener: ConsoleListener, webSocket: WebSocket): void {
  const client = webSocketClient(webSocket);
  const session =
    listener.kind === "termproxy"
      ? new TermSession(region, listener, client)
      : new VncSession(region, listener, client);
  webSocket.on("message", (data) =>
    session.receive(Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)),
  );
  // An error of the websocket protocol, such as too long a frame, is followed by a close.
  webSocket.on("error", () => webSocket.terminate());
  webSocket.on("close", () => {
    session.close();
    endListener(region, listener);
  });
  // A task that is killed takes its connection with it.
  void listener.ended.then(() => webSocket.terminate());
}
