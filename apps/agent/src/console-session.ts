// One console session: the hypervisor's side and the control plane's, joined for as long as both last.

import { ConsoleUnavailable } from "@kule/proxmox/console";
import type { ConsoleStream } from "@kule/proxmox/console-stream";
import { type RawData, WebSocket } from "ws";
import type { ConsoleLoopOptions } from "./console-loop.ts";
import type { ClaimedConsole } from "./control-plane.ts";
import type { AgentRuntime } from "./runtime.ts";
import { greetViewer } from "./viewer-greeting.ts";

/** At most this much may wait for one side; above it the other side is not read any more. */
const FULL_BYTES = 256 * 1024;
const DRAINED_BYTES = 64 * 1024;
/** A person's typing comes in frames of at most 64 KiB. */
const PAYLOAD_BYTES = 96 * 1024;
const PING_MILLISECONDS = 15_000;
const MISSED_PINGS = 2;
const CLOSE_MILLISECONDS = 1_000;
const DIAL_ATTEMPTS = 3;

type Options = Pick<
  ConsoleLoopOptions,
  "consoles" | "region" | "controlPlaneUrl" | "token" | "runtime" | "log"
>;

/**
 * Runs the session to its end; never rejects. Its reason is reported to the control plane, which shows it to
 * the viewer.
 */
export async function runConsoleSession(
  claimed: ClaimedConsole,
  options: Options,
  stop: AbortSignal,
): Promise<void> {
  const { consoles, region, runtime, log } = options;
  const about = { session: claimed.session_id, type: claimed.type, server: claimed.server.id };
  const signal = AbortSignal.any([stop]);
  const owner = { serverId: claimed.server.id, region };
  const opening = consoles.open(claimed.type, claimed.vmid, owner, signal);
  const [stream, socket] = await Promise.allSettled([opening, dial(claimed.session_id, options)]);
  if (socket.status === "rejected") {
    log.warn({ ...about, reason: String(socket.reason) }, "the control plane did not take the console");
    if (stream.status === "fulfilled") stream.value.close();
    return;
  }
  if (stream.status === "rejected") {
    const { reason } = stream;
    const code = reason instanceof ConsoleUnavailable ? reason.code : "hypervisor_failed";
    log.warn({ ...about, code, reason: String(reason) }, "the console did not open");
    return close(socket.value, code, runtime);
  }
  log.info(about, "console open");
  const reason = await join(claimed.type, stream.value, socket.value, runtime, stop);
  stream.value.close();
  await close(socket.value, reason, runtime);
  log.info({ ...about, reason }, "console closed");
}

/** A connection to the process of the control plane that can be reached; which one it is makes no difference. */
async function dial(sessionId: string, { controlPlaneUrl, token, runtime }: Options): Promise<WebSocket> {
  const url = `${controlPlaneUrl.replace(/^http/, "ws")}/agent/consoles/${sessionId}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await connect(url, token);
    } catch (error) {
      if (attempt >= DIAL_ATTEMPTS) throw error;
      await runtime.pause(250 * attempt);
    }
  }
}

function connect(url: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(url, "kule.console.v1", {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: 4_000,
    perMessageDeflate: false,
    maxPayload: PAYLOAD_BYTES,
  });
  return new Promise((resolve, reject) => {
    socket.once("open", () => {
      // Nothing is read before there is a listener.
      socket.pause();
      resolve(socket);
    });
    socket.on("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
  });
}

/** Passes bytes both ways until one side ends; answers why it did. */
function join(
  type: ClaimedConsole["type"],
  stream: ConsoleStream,
  socket: WebSocket,
  runtime: AgentRuntime,
  stop: AbortSignal,
): Promise<string> {
  return new Promise((resolve) => {
    const end = (reason: string) => {
      stopWatching();
      stop.removeEventListener("abort", stopped);
      resolve(reason);
    };
    const stopped = () => end("restarting");
    stop.addEventListener("abort", stopped, { once: true });
    const stopWatching = watch(socket, runtime, () => end("closed"));
    const toSocket = (bytes: Uint8Array) => {
      socket.send(bytes, { binary: true }, () => {
        if (stream.isPaused && socket.bufferedAmount <= DRAINED_BYTES) stream.resume();
      });
      if (socket.bufferedAmount > FULL_BYTES) stream.pause();
    };
    const toStream = (bytes: Uint8Array) => {
      stream.send(bytes, () => {
        if (socket.isPaused && stream.unsentBytes <= DRAINED_BYTES) socket.resume();
      });
      if (stream.unsentBytes > FULL_BYTES) socket.pause();
    };
    // A screen's viewer is greeted here, since the sign-in to the hypervisor is already done.
    let fromViewer = toStream;
    let begin = () => stream.listen({ data: toSocket, end: () => end("server_off") });
    if (type === "vnc") {
      const listen = begin;
      begin = () => {};
      fromViewer = greetViewer(
        toSocket,
        (rest) => {
          fromViewer = toStream;
          listen();
          if (rest.length > 0) toStream(rest);
        },
        () => end("hypervisor_failed"),
      );
    }
    socket.on("message", (data, isBinary) => {
      if (isBinary) fromViewer(bytesOf(data));
      else resize(stream, bytesOf(data));
    });
    socket.once("close", () => end("closed"));
    if (socket.readyState !== socket.OPEN) return end("closed");
    socket.send(JSON.stringify({ type: "open" }));
    socket.resume();
    begin();
  });
}

/** The only message of the control plane other than bytes; it has validated the figures. */
function resize(stream: ConsoleStream, text: Buffer): void {
  // A machine that reads nothing has nothing to show in a new size, and what is sent to it is kept here.
  if (stream.unsentBytes > 2 * FULL_BYTES) return;
  try {
    const said = JSON.parse(text.toString("utf8")) as { type?: unknown; cols?: unknown; rows?: unknown };
    if (said.type === "resize" && Number.isInteger(said.cols) && Number.isInteger(said.rows))
      stream.resize(Number(said.cols), Number(said.rows));
  } catch {
    // A newer control plane may send more.
  }
}

/**
 * Pings, and calls back when no answer comes any more. While the other side's data is not being read, its
 * answer cannot be read either, so that time does not count.
 */
function watch(socket: WebSocket, runtime: AgentRuntime, gone: () => void): () => void {
  let missed = 0;
  const heard = () => {
    missed = 0;
  };
  socket.on("pong", heard);
  socket.on("message", heard);
  let cancel = () => {};
  const next = () => {
    cancel = runtime.after(PING_MILLISECONDS, () => {
      missed = socket.isPaused ? 0 : missed + 1;
      if (missed > MISSED_PINGS) {
        socket.terminate();
        return gone();
      }
      if (socket.readyState === socket.OPEN) socket.ping();
      next();
    });
  };
  next();
  return () => cancel();
}

async function close(socket: WebSocket, reason: string, runtime: AgentRuntime): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  socket.resume();
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.close(reason === "closed" ? 1000 : 4000, reason);
  const cancel = runtime.after(CLOSE_MILLISECONDS, () => socket.terminate());
  await closed;
  cancel();
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
