import { failure } from "../api-error.ts";
import type { Region } from "../region.ts";
import { startTask } from "../tasks/worker.ts";

export type ConsoleKind = "termproxy" | "vncproxy";

/** A port on localhost of a node that waits for the one websocket it is for. */
export interface ConsoleListener {
  readonly kind: ConsoleKind;
  readonly node: string;
  readonly vmid: number;
  readonly port: number;
  readonly authUser: string;
  readonly upid: string;
  /** Of RFB. */
  password: string;
  /** The serial interface that was named, or the display's. */
  readonly serial: string | null;
  /** Resolves when the session has ended, from either side. */
  readonly ended: Promise<void>;
  ticket: string;
}

interface OpenListener extends ConsoleListener {
  taken: boolean;
  /** From here on it has no time limit. */
  connected: () => void;
  end: (error: Error | null) => void;
}

const FIRST_PORT = 5900;
const LAST_PORT = 5999;
const LISTENS_SECONDS = 10;

const open = new WeakMap<Region, Map<string, OpenListener>>();

function listenersOf(region: Region): Map<string, OpenListener> {
  const found = open.get(region) ?? new Map<string, OpenListener>();
  open.set(region, found);
  return found;
}

/**
 * Reserves the lowest free port of the node and starts the task that lasts as long as the session. Without a
 * connection within ten seconds it ends. These are real seconds at any time scale above 0, because a client's
 * network is not simulated.
 */
export function listenForConsole(
  region: Region,
  what: Pick<ConsoleListener, "kind" | "node" | "vmid" | "authUser" | "password" | "serial">,
): ConsoleListener {
  const listeners = listenersOf(region);
  let port = FIRST_PORT;
  while (port <= LAST_PORT && listeners.has(`${what.node}:${port}`)) port += 1;
  if (port > LAST_PORT) throw failure("unable to find free port (5900-5999)");
  const key = `${what.node}:${port}`;
  const ended = Promise.withResolvers<void>();
  const cancel = region.runtime.after(LISTENS_SECONDS * 1000, () => end(new Error("connection timed out")));
  const end = (error: Error | null): void => {
    cancel();
    if (!listeners.delete(key)) return;
    if (error === null) ended.resolve();
    else ended.reject(error);
  };
  const upid = startTask(
    region,
    { node: what.node, type: "vncproxy", id: String(what.vmid), user: what.authUser },
    async (worker) => {
      worker.log(`starting ${what.kind} ${what.vmid} on port ${port}`);
      await Promise.race([ended.promise, worker.untilKilled()]).finally(() => end(null));
    },
  );
  const over = ended.promise.catch(() => undefined);
  const listener: OpenListener = {
    ...what,
    port,
    upid,
    ticket: "",
    ended: over,
    taken: false,
    connected: cancel,
    end,
  };
  listeners.set(key, listener);
  return listener;
}

/** The listener at a port for its one connection, or undefined when there is none (any more). */
export function takeListener(region: Region, node: string, port: number): ConsoleListener | undefined {
  const listener = listenersOf(region).get(`${node}:${port}`);
  if (listener === undefined || listener.taken) return undefined;
  listener.taken = true;
  listener.connected();
  return listener;
}

/** The session is over: its port is free and its task ends. */
export function endListener(region: Region, listener: ConsoleListener, error: Error | null = null): void {
  const found = listenersOf(region).get(`${listener.node}:${listener.port}`);
  if (found?.upid === listener.upid) found.end(error);
}
