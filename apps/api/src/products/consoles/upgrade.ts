import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { DatabaseAway } from "../../platform/database-errors.ts";
import type { Deps } from "../../platform/deps.ts";
import { isId } from "../../platform/ids.ts";
import { ConsoleHub, mayStillUse } from "./console-hub.ts";
import { countUpgrade } from "./count-upgrade.ts";
import type { SessionTimes } from "./live-session.ts";
import { refuseUpgrade, UpgradeRefused } from "./refuse-upgrade.ts";
import { relayHeader, relayPath, relayUpgrade } from "./relay.ts";
import { findReplica, type Replica } from "./replica-store.ts";
import { findClaimed, markClosed, redeemTicket } from "./store.ts";
import { presented } from "./ticket.ts";

/** A person types and pastes; the panel sends a paste in parts. */
const browserPayloadBytes = 64 * 1024;
/** The hypervisor's longest frame, and a little. */
const agentPayloadBytes = 160 * 1024;

const noTicket = new UpgradeRefused(
  401,
  "unauthorized",
  "the ticket is unknown, used, expired or for another console",
);

const notUpgraded = new UpgradeRefused(400, "malformed_request", "the handshake is none of a websocket");

/**
 * Turns a server's upgrade requests into websockets. A request for anything else is closed, also after an
 * error.
 */
export function serveConsoles(
  server: Server,
  deps: Deps,
  replica: Replica,
  apiRoot: string,
  times: Partial<SessionTimes> = {},
): { readonly hub: ConsoleHub; stop(): Promise<void> } {
  const hub = new ConsoleHub(deps, replica.id, times);
  const sockets = new Set<Duplex>();
  const common = { noServer: true, perMessageDeflate: false, clientTracking: false } as const;
  const forBrowsers = new WebSocketServer({
    ...common,
    maxPayload: browserPayloadBytes,
    handleProtocols: chosen,
  });
  const forAgents = new WebSocketServer({
    ...common,
    maxPayload: agentPayloadBytes,
    handleProtocols: chosen,
  });
  // The library answers an invalid handshake itself, without an event.
  const upgraded = (server_: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer) =>
    new Promise<WebSocket>((resolve, reject) => {
      socket.once("close", () => reject(notUpgraded));
      server_.handleUpgrade(request, socket, head, resolve);
    });

  const browser = async (request: IncomingMessage, socket: Duplex, head: Buffer, ids: [string, string]) => {
    refuseForeignPage(deps, request);
    const offer = presented(protocolsOf(request));
    const [serverId, sessionId] = ids;
    if (offer === null || !isId("srv", serverId) || !isId("con", sessionId)) throw noTicket;
    const { type, hash } = offer;
    const session = await redeemTicket(deps.db, { sessionId, serverId, type, hash }, replica.id);
    if (session === null) throw noTicket;
    const isOwn = await isSameCaller(deps, request, session.subject);
    if (!isOwn || !(await mayStillUse(deps, session)) || socket.destroyed) {
      await markClosed(deps.db, session, { reason: "refused", bytes: null });
      throw noTicket;
    }
    const connection = await upgraded(forBrowsers, request, socket, head).catch(async (error: unknown) => {
      // Its ticket is used up, and it would count as open for as long as this process lives.
      await markClosed(deps.db, session, { reason: "refused", bytes: null });
      throw error;
    });
    hub.acceptBrowser(session, connection);
  };

  const agent = async (request: IncomingMessage, socket: Duplex, head: Buffer, sessionId: string) => {
    const caller = await deps.tokens.callerOf(bearerOf(request) ?? "");
    if (caller === null)
      throw new UpgradeRefused(401, "unauthorized", "the token is unknown, expired or revoked");
    if (caller.region === null || !caller.permissions.has("agent:consoles"))
      throw new UpgradeRefused(403, "forbidden", "this needs the permission agent:consoles");
    const session = isId("con", sessionId) ? await findClaimed(deps.db, caller.region, sessionId) : null;
    if (session?.replica_id == null) throw new UpgradeRefused(404, "not_found", "no such resource");
    if (session.replica_id === replica.id) return meet(request, socket, head, sessionId);
    const other = await findReplica(deps.db, session.replica_id);
    if (other === null) throw new UpgradeRefused(404, "not_found", "no such resource");
    await relayUpgrade(request, socket, head, other, sessionId);
  };

  const relayed = async (request: IncomingMessage, socket: Duplex, head: Buffer, sessionId: string) => {
    if (!isSecret(replica.secret, request.headers[relayHeader]))
      throw new UpgradeRefused(404, "not_found", "no such path");
    await meet(request, socket, head, sessionId);
  };

  const meet = async (request: IncomingMessage, socket: Duplex, head: Buffer, sessionId: string) => {
    if (!(await hub.whenHeld(sessionId))) throw new UpgradeRefused(404, "not_found", "no such resource");
    const connection = await upgraded(forAgents, request, socket, head);
    if (!hub.acceptAgent(sessionId, connection)) connection.close(4000, "taken");
  };

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A reset during a query must not end the process.
    socket.on("error", () => socket.destroy());
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    const path = (request.url ?? "").split("?")[0] ?? "";
    const forBrowser = new RegExp(`^${apiRoot}/servers/([^/]+)/console/([^/]+)$`).exec(path);
    const forAgent = new RegExp(`^${apiRoot}/agent/consoles/([^/]+)$`).exec(path);
    const work = () => {
      if (deps.stopping.aborted) throw new UpgradeRefused(503, "unavailable", "the process is stopping");
      if (forBrowser !== null || forAgent !== null)
        countUpgrade(deps, request, forAgent === null ? "browser" : "agent");
      if (forBrowser !== null)
        return browser(request, socket, head, [forBrowser[1] ?? "", forBrowser[2] ?? ""]);
      if (forAgent !== null) return agent(request, socket, head, forAgent[1] ?? "");
      if (path.startsWith(relayPath)) return relayed(request, socket, head, path.slice(relayPath.length));
      throw new UpgradeRefused(404, "not_found", "no such path");
    };
    Promise.try(work).catch((error: unknown) => {
      if (!(error instanceof UpgradeRefused) && !(error instanceof DatabaseAway))
        deps.log.error({ err: error, path }, "a bug in an upgrade");
      const refusal =
        error instanceof UpgradeRefused
          ? error
          : new UpgradeRefused(503, "unavailable", "not available for the moment");
      refuseUpgrade(socket, refusal);
    });
  });
  return {
    hub,
    async stop() {
      await hub.stop();
      // Relayed connections have no session here, and a side that does not answer its close has had its time.
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, 1_200);
      timer.unref();
    },
  };
}

/** The subprotocol of the console is confirmed; the ticket in the same header is never echoed. */
function chosen(protocols: Set<string>): string | false {
  for (const each of protocols) if (/^kule\.console\./.test(each)) return each;
  return false;
}

const protocolsOf = (request: IncomingMessage): string[] =>
  (request.headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());

const bearerOf = (request: IncomingMessage): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];

/** Browsers send the origin of the page. Other clients send none, and need the ticket all the same. */
function refuseForeignPage({ settings }: Deps, request: IncomingMessage): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  const allowed = [new URL(settings.publicUrl).origin, ...settings.consoleOrigins];
  if (!allowed.includes(origin))
    throw new UpgradeRefused(
      403,
      "forbidden",
      "pages of that origin may not open consoles: KULE_CONSOLE_ORIGINS",
    );
}

/** A request with a token, as scripts can send, must come from the caller who requested the ticket. */
async function isSameCaller(deps: Deps, request: IncomingMessage, subject: string): Promise<boolean> {
  if (request.headers.authorization === undefined) return true;
  const caller = await deps.tokens.callerOf(bearerOf(request) ?? "");
  return caller?.subject === subject;
}

function isSecret(secret: string, given: string | string[] | undefined): boolean {
  const expected = Buffer.from(secret);
  const shown = Buffer.from(typeof given === "string" ? given : "");
  return expected.length === shown.length && timingSafeEqual(expected, shown);
}
