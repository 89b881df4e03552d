import type { IncomingMessage } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { UpgradeRefused } from "./refuse-upgrade.ts";
import type { Replica } from "./replica-store.ts";

/** Shows the receiving process that another one has already authenticated the connection. */
export const relayHeader = "kule-relay";
export const relayPath = "/internal/consoles/";

const connectMs = 3_000;
const copied = ["sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol"] as const;

/**
 * Joins an agent's connection to the process that holds the session: its handshake is repeated there, and
 * then bytes are forwarded in both directions. Node's pipes buffer at most some 16 kB a direction and make
 * the faster side wait.
 */
export async function relayUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  replica: Replica,
  sessionId: string,
): Promise<void> {
  const address = new URL(replica.address);
  const upstream = await connected(address).catch(() => {
    throw new UpgradeRefused(503, "unavailable", "the process that holds the session cannot be reached");
  });
  const headers = copied.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === "string" ? [`${name}: ${value}`] : [];
  });
  upstream.write(
    [
      `GET ${relayPath}${sessionId} HTTP/1.1`,
      `host: ${address.host}`,
      "connection: Upgrade",
      "upgrade: websocket",
      `${relayHeader}: ${replica.secret}`,
      ...headers,
      "",
      "",
    ].join("\r\n"),
  );
  if (head.length > 0) upstream.write(head);
  const end = () => {
    upstream.destroy();
    socket.destroy();
  };
  for (const each of [upstream, socket]) each.on("error", end).on("close", end);
  upstream.pipe(socket);
  socket.pipe(upstream);
}

function connected(address: URL): Promise<Socket> {
  const isTls = address.protocol === "https:";
  const place = {
    host: address.hostname.replace(/^\[|\]$/g, ""),
    port: Number(address.port || (isTls ? 443 : 80)),
  };
  return new Promise((resolve, reject) => {
    const socket = isTls ? connectTls({ ...place, servername: place.host }) : connectTcp(place);
    const timer = setTimeout(() => socket.destroy(new Error("no connection in time")), connectMs);
    socket.once("error", reject);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.removeListener("error", reject);
      socket.setNoDelay(true);
      resolve(socket);
    });
    socket.once("close", () => clearTimeout(timer));
  });
}
