/** The lab as a process of its own: `node src/main.ts`, configured by KULE_LAB_* variables. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startLab } from "./lab.ts";
import { PortTaken } from "./port-taken.ts";
import { probeRealGuests } from "./real-guests/probe-real-guests.ts";
import type { ProxmoxVersion } from "./schema/api-schema.ts";
import type { EdgeMachine } from "./wires/edge-machine.ts";
import { readInternet } from "./wires/internet.ts";
import { probeWires } from "./wires/wires.ts";

const VERSIONS: readonly ProxmoxVersion[] = ["8.2", "8.4", "9.0", "9.2"];

function fail(message: string): never {
  process.stderr.write(`lab: ${message}\n`);
  process.exit(1);
}

function numberFrom(name: string, absent: number, valid: (value: number) => boolean, what: string): number {
  const text = process.env[name];
  if (text === undefined || text === "") return absent;
  const value = Number(text);
  return Number.isFinite(value) && valid(value) ? value : fail(`${name}=${text}: ${what}`);
}

const isPort = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 65535;
const dataDir =
  process.env.KULE_LAB_DIR ?? fail("KULE_LAB_DIR says where to keep the region's state; it is not set");
const port = numberFrom("KULE_LAB_PORT", 8006, isPort, "a port is 0 to 65535");
const controlPort = numberFrom("KULE_LAB_CONTROL_PORT", -1, isPort, "a port is 0 to 65535");
const timeScale = numberFrom("KULE_LAB_TIME_SCALE", 1, (v) => v >= 0, "0 = immediate, 1 = lifelike");
const seed = numberFrom("KULE_LAB_SEED", 1, Number.isInteger, "a whole number");
const size = numberFrom("KULE_LAB_SIZE", 1, (v) => Number.isInteger(v) && v >= 1, "a whole number from 1");
const version = VERSIONS.find((known) => known === (process.env.KULE_LAB_VERSION ?? "9.2"));
if (version === undefined) fail(`KULE_LAB_VERSION is one of ${VERSIONS.join(", ")}`);
const host = process.env.KULE_LAB_HOST ?? "127.0.0.1";
const edgePort = numberFrom("KULE_LAB_EDGE_PORT", 0, isPort, "a port is 0 to 65535");
const wanted = process.env.KULE_LAB_WIRES ?? "off";
if (!["on", "off", "auto"].includes(wanted)) fail(`KULE_LAB_WIRES=${wanted}: on, off, or auto`);
const withoutWires = wanted === "off" ? "KULE_LAB_WIRES is off" : await probeWires();
if (wanted === "on" && withoutWires !== undefined) fail(`KULE_LAB_WIRES=on: ${withoutWires}`);
const internet = readInternet(process.env.KULE_LAB_INTERNET);
if (typeof internet === "string") fail(`KULE_LAB_INTERNET: ${internet}`);
const realGuests = rootsOf(process.env.KULE_LAB_REAL_GUESTS ?? "");
if (realGuests !== undefined) {
  const reason = withoutWires ?? (await probeRealGuests());
  if (reason !== undefined) fail(`KULE_LAB_REAL_GUESTS: ${reason}`);
}
const nodeRules = rulesOf(process.env.KULE_LAB_NODE_RULES ?? "");

function rulesOf(file: string): string {
  try {
    return file === "" ? "" : readFileSync(file, "utf8");
  } catch (error) {
    return fail(`KULE_LAB_NODE_RULES: ${error instanceof Error ? error.message : error}`);
  }
}

/** Folders by the names of templates, as JSON. */
function rootsOf(text: string): Readonly<Record<string, string>> | undefined {
  if (text === "") return undefined;
  try {
    const roots: unknown = JSON.parse(text);
    if (
      typeof roots === "object" &&
      roots !== null &&
      Object.values(roots).every((root) => typeof root === "string")
    )
      return roots as Record<string, string>;
  } catch {
    // The same text as for another shape.
  }
  return fail(`KULE_LAB_REAL_GUESTS is JSON such as {"debian-12":"/path/of/a/root"}`);
}

/** Without secrets: the key is named by its file. */
function shown({ host, port, user, hostKey, keyFile }: EdgeMachine): object {
  return { host, port, user, host_key: hostKey, key_file: keyFile };
}

try {
  const lab = await startLab({
    dataDir,
    port,
    host,
    timeScale,
    version,
    seed,
    size,
    ...(realGuests === undefined ? {} : { realGuests }),
    ...(controlPort < 0 ? {} : { controlPort }),
    ...(withoutWires === undefined ? { wires: internet, edgePort, nodeRules } : { withoutWires }),
  });
  const file = join(dataDir, "lab.json");
  const token = { id: lab.tokenId, secret: lab.tokenSecret };
  const operatorToken = { id: lab.operatorTokenId, secret: lab.operatorTokenSecret };
  const { url, fingerprint256, controlUrl } = lab;
  const edge = lab.edge === undefined ? {} : { edge: shown(lab.edge) };
  const wires =
    withoutWires === undefined
      ? { wires: "on", internet: lab.wires?.inInternet() }
      : { wires: "off", without_wires: withoutWires };
  writeFileSync(
    `${file}.tmp`,
    `${JSON.stringify({ url, fingerprint256, controlUrl, token: `${token.id}=${token.secret}`, operatorToken: `${operatorToken.id}=${operatorToken.secret}`, ...wires, ...edge }, null, 2)}\n`,
    { mode: 0o600 },
  );
  renameSync(`${file}.tmp`, file);
  // The line on standard output contains no secret: it may end up in a log.
  process.stdout.write(
    `${JSON.stringify({ ready: true, url, fingerprint256, controlUrl, version, file, ...wires, ...edge })}\n`,
  );
  const end = (): void => {
    lab.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
} catch (error) {
  if (error instanceof PortTaken) {
    const variable =
      [
        [port, "KULE_LAB_PORT"] as const,
        [controlPort, "KULE_LAB_CONTROL_PORT"] as const,
        [edgePort, "KULE_LAB_EDGE_PORT"] as const,
      ].find(([each]) => each === error.port)?.[1] ?? "KULE_LAB_PORT";
    fail(`port ${error.port} is taken; set ${variable} to another one`);
  }
  throw error;
}
