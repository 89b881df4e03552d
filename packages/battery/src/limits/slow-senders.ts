import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** How a client holds a connection without ever sending a complete request. */
export type SlowKind = "silent" | "slow headers" | "slow body" | "slow chunks";

const openings: { readonly [kind in SlowKind]: string } = {
  silent: "",
  "slow headers": "GET /api/v1/me HTTP/1.1\r\nHost: kule\r\nX-Slow: ",
  "slow body":
    "POST /api/v1/auth/login HTTP/1.1\r\nHost: kule\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
  "slow chunks":
    "POST /api/v1/auth/login HTTP/1.1\r\nHost: kule\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
};
const drops: { readonly [kind in SlowKind]: string } = {
  silent: "",
  "slow headers": "a",
  "slow body": " ",
  "slow chunks": "1\r\n \r\n",
};

/**
 * Opens connections of that kind and feeds each a byte a second.
 *
 * @returns how long each stayed open, in seconds; `limitSeconds` for those that still were open then
 */
export async function slowSenders(
  kind: SlowKind,
  count: number,
  port: number,
  limitSeconds: number,
): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, () => slowSender(kind, port, limitSeconds)));
}

async function slowSender(kind: SlowKind, port: number, limitSeconds: number): Promise<number> {
  const startedAt = performance.now();
  const livedSeconds = () => (performance.now() - startedAt) / 1000;
  const socket: Socket = connect(port, "127.0.0.1");
  const ended = new Promise<void>((done) => {
    socket.on("error", () => {});
    socket.on("close", () => done());
    // Answered and half-closed counts as ended as well.
    socket.on("end", () => done());
    socket.resume();
  });
  socket.write(openings[kind]);
  const dripping = setInterval(() => {
    if (drops[kind] !== "" && socket.writable) socket.write(drops[kind]);
  }, 1000);
  await Promise.race([ended, delay(limitSeconds * 1000)]);
  const lived = Math.min(livedSeconds(), limitSeconds);
  clearInterval(dripping);
  socket.destroy();
  return lived;
}
