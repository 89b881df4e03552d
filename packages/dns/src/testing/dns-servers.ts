import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDnsLab } from "@kule/lab/dns/dns-lab";
import { startPowerDns } from "@kule/lab/dns/powerdns-daemon";
import { findFreePort } from "@kule/postgres/free-port";

export const API_KEY = "key-of-the-tests";

/** PowerDNS or its stand-in, with zones that nobody else has. */
export interface RunningDns {
  /** Of the API. */
  readonly url: string;
  readonly address: string;
  readonly dnsPort: number;
  /** Ends it and starts it again with the zones that it has. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** `dnsPort` for several on different addresses of this machine. */
export function startStandIn(at: { address?: string; dnsPort?: number } = {}): Promise<RunningDns> {
  return keptRunning(async (dataDir, ports) => startDnsLab({ dataDir, apiKey: API_KEY, ...at, ...ports }));
}

export async function startRealPowerDns(): Promise<RunningDns> {
  const ports = { apiPort: await findFreePort(), dnsPort: await findFreePort() };
  return keptRunning((dataDir) => startPowerDns({ dataDir, apiKey: API_KEY, ...ports }));
}

interface Server {
  readonly url: string;
  readonly address: string;
  readonly dnsPort: number;
  close(): Promise<void>;
}

async function keptRunning(
  start: (dataDir: string, ports: { apiPort?: number; dnsPort?: number }) => Promise<Server>,
): Promise<RunningDns> {
  const dataDir = mkdtempSync(join(tmpdir(), "kule-dns-"));
  let server = await start(dataDir, {});
  const { url, address, dnsPort } = server;
  return {
    url,
    address,
    dnsPort,
    restart: async () => {
      await server.close();
      server = await start(dataDir, { apiPort: Number(new URL(url).port), dnsPort });
    },
    close: async () => {
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
