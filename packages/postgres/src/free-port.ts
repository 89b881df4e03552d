import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { threadId } from "node:worker_threads";

/**
 * Below the ports that kernels use for outgoing connections (32,768 and up on Linux, 49,152 elsewhere), any
 * of which may take a port between the check and the listen. Few services have theirs here.
 */
const FIRST_PORT = 20_000;
const PORT_AFTER_LAST = 32_768;
/**
 * Processes that search for ports at the same time search different ranges, so that no two find the same one.
 */
const PORTS_OF_A_PROCESS = 32;
const PLACES = (PORT_AFTER_LAST - FIRST_PORT) / PORTS_OF_A_PROCESS;
const place = FIRST_PORT + ((process.pid + threadId) % PLACES) * PORTS_OF_A_PROCESS;
let count = randomInt(PORTS_OF_A_PROCESS);

/**
 * @returns a TCP port of 127.0.0.1 that was free a moment ago, and that this process was not given lately
 * @throws Error when as many are in use as a process has
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_OF_A_PROCESS; tries += 1) {
    const port = place + (count++ % PORTS_OF_A_PROCESS);
    if (!(await isPortBusy(port))) return port;
  }
  throw new Error(`all of the ports ${place} to ${place + PORTS_OF_A_PROCESS - 1} are in use`);
}

/** True when something already listens on, or holds, this TCP port of the host. */
export function isPortBusy(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(true) : reject(error),
    );
    server.listen(port, host, () => server.close(() => resolve(false)));
  });
}
