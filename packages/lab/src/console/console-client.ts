import type { WebSocket } from "ws";

/** The other end of a console: bytes to it, and whether more would only pile up. */
export interface ConsoleClient {
  send(bytes: Uint8Array): void;
  /** False while so much is unsent that a source should pause. */
  readonly isReady: boolean;
  /** Called when it is ready again. One listener at a time. */
  onReady(listener: () => void): void;
  close(): void;
}

const FULL_BYTES = 256 * 1024;
/** Server frames are single and at most this long. */
const FRAME_BYTES = 128 * 1024;

/** The client at the other end of a websocket. */
export function webSocketClient(socket: WebSocket): ConsoleClient {
  let listener: (() => void) | undefined;
  const sent = (): void => {
    if (socket.bufferedAmount < FULL_BYTES) listener?.();
  };
  return {
    send: (bytes) => {
      for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
        if (socket.readyState !== socket.OPEN) return;
        socket.send(bytes.subarray(at, at + FRAME_BYTES), { binary: true }, sent);
      }
    },
    get isReady() {
      return socket.bufferedAmount < FULL_BYTES;
    },
    onReady: (next) => {
      listener = next;
    },
    close: () => socket.close(1000),
  };
}
