/**
 * The CA of a lab as a process of its own, configured by KULE_LAB_CA_* variables: pebble, which looks for the proofs of names at
 * the lab's name server.
 */

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startPebbleDaemon } from "./pebble-daemon.ts";

const dataDir = required("KULE_LAB_CA_DIR");
const port = portOf("KULE_LAB_CA_PORT");
const managementPort = portOf("KULE_LAB_CA_MANAGEMENT_PORT");
const dnsServer = required("KULE_LAB_CA_DNS");

const pebble = await startPebbleDaemon({ dataDir, port, managementPort, dnsServer });
// Whoever started this process starts it again.
void pebble.ended.then((how) => fail(`pebble ended (${how})`));
describe({
  directory: pebble.directoryUrl,
  server_certificate: written("server.pem", pebble.identity.certificatePem),
  root_certificate: written("root.pem", await pebble.rootPem()),
});
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.once(signal, () => void pebble.kill().then(() => process.exit(0)));

/** Whoever waits for this file finds it whole. */
function describe(description: object): void {
  written("ca.json", `${JSON.stringify(description, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify({ ready: true, ...description })}\n`);
}

/** @returns its path */
function written(name: string, text: string): string {
  const file = join(dataDir, name);
  writeFileSync(`${file}.tmp`, text, { mode: 0o644 });
  renameSync(`${file}.tmp`, file);
  return file;
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
  process.stderr.write(`ca: ${message}\n`);
  process.exit(1);
}
