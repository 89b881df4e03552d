/**
 * The DNS of a lab as a process of its own, configured by KULE_LAB_DNS_* variables: what serves customers' zones (PowerDNS
 * where it is installed, else the stand-in), and the rest of the Internet. Both answer on one port, at two addresses,
 * because whoever follows delegations asks all name servers on the same port.
 */

import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PortTaken } from "../port-taken.ts";
import { startDnsLab } from "./dns-lab.ts";
import { probePowerDns, startPowerDns } from "./powerdns-daemon.ts";
import { startTopLevelZones } from "./top-level-zones.ts";

const NAME_SERVER = "127.0.0.1";
const INTERNET = "127.0.0.2";

const dataDir = required("KULE_LAB_DNS_DIR");
const dnsPort = portOf("KULE_LAB_DNS_PORT");
const apiPort = portOf("KULE_LAB_DNS_API_PORT");
const registrarPort = portOf("KULE_LAB_REGISTRAR_PORT");
const apiKey = required("KULE_LAB_DNS_API_KEY");
const registrarKey = required("KULE_LAB_REGISTRAR_KEY");

interface Part {
  close(): Promise<void>;
}

try {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const withoutPowerDns = whyNotPowerDns();
  const internet = await startTopLevelZones({
    dataDir: join(dataDir, "internet"),
    apiKey: registrarKey,
    address: INTERNET,
    apiPort: registrarPort,
    dnsPort,
    nameServerAddress: NAME_SERVER,
    reverseZones: (process.env.KULE_LAB_REVERSE_ZONES ?? "").split(" ").filter((zone) => zone !== ""),
  });
  const server = await startServer(withoutPowerDns);
  describe({
    address: `${NAME_SERVER}:${dnsPort}`,
    internet: INTERNET,
    ...(withoutPowerDns === undefined ? {} : { without_powerdns: withoutPowerDns }),
  });
  const end = (): void => {
    Promise.all([server.close(), internet.close()]).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
} catch (error) {
  if (error instanceof PortTaken) {
    const variable =
      [[apiPort, "KULE_LAB_DNS_API_PORT"] as const, [registrarPort, "KULE_LAB_REGISTRAR_PORT"] as const].find(
        ([each]) => each === error.port,
      )?.[1] ?? "KULE_LAB_DNS_PORT";
    fail(`port ${error.port} is taken; set ${variable} to another one`);
  }
  throw error;
}

/**
 * Undefined when PowerDNS serves the zones. What was chosen first stays: the other one has neither the zones nor the keys
 * whose DS records may be entered at the registrar.
 */
function whyNotPowerDns(): string | undefined {
  const missing = probePowerDns();
  if (existsSync(join(dataDir, "stand-in")))
    return missing ?? `the stand-in has the zones of earlier starts, in ${join(dataDir, "stand-in")}`;
  if (missing !== undefined && existsSync(join(dataDir, "powerdns")))
    fail(`the zones are in the database of PowerDNS, and ${missing}`);
  return missing;
}

async function startServer(withoutPowerDns: string | undefined): Promise<Part> {
  const address = { address: NAME_SERVER, apiPort, dnsPort, apiKey };
  if (withoutPowerDns !== undefined)
    return await startDnsLab({ dataDir: join(dataDir, "stand-in"), ...address });
  const daemon = await startPowerDns({ dataDir: join(dataDir, "powerdns"), ...address });
  // Whoever started this process starts it again.
  void daemon.ended.then((how) => fail(`PowerDNS ended (${how})`));
  return daemon;
}

/** Whoever waits for this file finds it whole. */
function describe(description: object): void {
  const file = join(dataDir, "dns.json");
  writeFileSync(`${file}.tmp`, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
  process.stdout.write(`${JSON.stringify({ ready: true, ...description })}\n`);
}

function required(name: string): string {
  return process.env[name] || fail(`${name} is not set`);
}

function portOf(name: string): number {
  const port = Number(required(name));
  return Number.isInteger(port) && port >= 1 && port <= 65_535
    ? port
    : fail(`${name} is a port from 1 to 65535`);
}

function fail(message: string): never {
  process.stderr.write(`dns: ${message}\n`);
  process.exit(1);
}
