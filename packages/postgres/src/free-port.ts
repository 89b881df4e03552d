import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";
import { threadId } from "node:worker_threads";

/**
 * Below the ports that kernels use for outgoing connections (32,768 and up on Linux, 49,152 elsewhere), any
 * of which may take a port between the check and the listen. Few services have theirs here.
 */
const FIRST_PORT = 20_000;
const PORT_AFTER_LAST = 32_768;
/**
 * A process has so many ports to itself. It listens on the first of them for as long as it runs, which is how
 * the others know that they are taken: a port that was given and is not listened on yet looks free.
 */
const PORTS_OF_A_PROCESS = 32;
const PLACES = (PORT_AFTER_LAST - FIRST_PORT) / PORTS_OF_A_PROCESS;
let place: Promise<number> | undefined;
let count = randomInt(PORTS_OF_A_PROCESS);

/**
 * @returns a TCP port of 127.0.0.1 that was free a moment ago, that no other process is given, and that this
 *   process was not given lately
 * @throws Error when as many are in use as a process has
 */
export async function findFreePort(): Promise<number> {
  place ??= takePlace();
  const first = await place;
  for (let tries = 1; tries < PORTS_OF_A_PROCESS; tries += 1) {
    const port = first + 1 + (count++ % (PORTS_OF_A_PROCESS - 1));
    if (!(await isPortBusy(port))) return port;
  }
  throw new Error(`all of the ports ${first + 1} to ${first + PORTS_OF_A_PROCESS - 1} are in use`);
}

async function takePlace(): Promise<number> {
  for (let tries = 0; tries < PLACES; tries += 1) {
    const first = FIRST_PORT + ((process.pid + threadId + tries) % PLACES) * PORTS_OF_A_PROCESS;
    const held = await listenOn(first);
    if (held === undefined) continue;
    held.unref();
    return first;
  }
  throw new Error(`no ports are left between ${FIRST_PORT} and ${PORT_AFTER_LAST}`);
}

/** True when something already listens on, or holds, this TCP port of the host. */
export async function isPortBusy(port: number, host = "127.0.0.1"): Promise<boolean> {
  const server = await listenOn(port, host);
  if (server === undefined) return true;
  await new Promise((resolve) => server.close(resolve));
  return false;
}

/** Undefined when the port is in use. Who connects is disconnected. */
function listenOn(port: number, host = "127.0.0.1"): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen(port, host, () => resolve(server));
  });
}
