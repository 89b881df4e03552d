import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerIdentity } from "@kule/lab/certificate";
import {
  type PebbleDaemonSettings,
  probePebble,
  startPebbleDaemon,
} from "@kule/lab/certificate-authority/pebble-daemon";
import { findFreePort } from "@kule/postgres/free-port";

export { probePebble };

export type PebbleSettings = Pick<
  PebbleDaemonSettings,
  "dnsServer" | "refusedNoncesPercent" | "externalAccounts"
>;

export interface Pebble {
  readonly directoryUrl: string;
  readonly origin: string;
  /** Of its HTTPS server: what clients must trust, and what a proxy before it can use. */
  readonly identity: ServerIdentity;
  /** Where it looks for answers over HTTP, instead of port 80. */
  readonly httpPort: number;
  /** SIGKILL and a new process at the same place, which knows nothing of before. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** A CA of one test. Resolves when it accepts connections. @throws Error with what it printed when it does not */
export async function startPebble(settings: PebbleSettings = {}): Promise<Pebble> {
  const dataDir = mkdtempSync(join(tmpdir(), "kule-pebble-"));
  const daemon = {
    ...settings,
    dataDir,
    port: await findFreePort(),
    managementPort: await findFreePort(),
    httpPort: await findFreePort(),
    tlsPort: await findFreePort(),
  };
  let running = await startPebbleDaemon(daemon);
  const { directoryUrl, origin, identity } = running;
  return {
    directoryUrl,
    origin,
    identity,
    httpPort: daemon.httpPort,
    restart: async () => {
      await running.kill();
      running = await startPebbleDaemon(daemon);
    },
    close: async () => {
      await running.kill();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
