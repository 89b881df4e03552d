// The real PowerDNS of this machine as a process of ours, with a database of its own: Debian's packages pdns-server and
// pdns-backend-sqlite3.

import { spawn } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Runtime, systemRuntime } from "../runtime.ts";

export interface PowerDnsSettings {
  /** Database, configuration and control socket. What an earlier run kept there is served again. */
  readonly dataDir: string;
  readonly apiKey: string;
  readonly address?: string;
  readonly apiPort: number;
  readonly dnsPort: number;
  readonly runtime?: Runtime;
}

export interface PowerDns {
  readonly url: string;
  readonly address: string;
  readonly dnsPort: number;
  readonly pid: number;
  /** Resolves when the daemon ends by itself, with how it ended; never after `close`. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

const SCHEMA = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";
const BACKENDS = "/usr/lib/*/pdns/libgsqlite3backend.so";
const READY_MILLISECONDS = 30_000;
const END_MILLISECONDS = 10_000;

/** Undefined when it can be started here, else what is missing. */
export function probePowerDns(): string | undefined {
  if (findProgram() === undefined) return "pdns_server is not installed (Debian package pdns-server)";
  if (globSync(BACKENDS).length === 0 || !existsSync(SCHEMA))
    return "PowerDNS' SQLite backend is not installed (Debian package pdns-backend-sqlite3)";
  return undefined;
}

/** Resolves when its API answers. @throws Error with what it printed, when it ends or is not ready within 30 s */
export async function startPowerDns(settings: PowerDnsSettings): Promise<PowerDns> {
  const {
    dataDir,
    apiKey,
    address = "127.0.0.1",
    apiPort,
    dnsPort,
    runtime = systemRuntime(1, 1),
  } = settings;
  const program = findProgram();
  if (program === undefined) throw new Error("pdns_server is not installed");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const database = join(dataDir, "zones.sqlite3");
  if (!existsSync(database)) {
    const sqlite = new DatabaseSync(database);
    sqlite.exec(readFileSync(SCHEMA, "utf8"));
    sqlite.close();
  }
  writeFileSync(
    join(dataDir, "pdns.conf"),
    configuration({ dataDir, database, apiKey, address, apiPort, dnsPort }),
    {
      mode: 0o600,
    },
  );
  // With util-linux a killed parent takes it along: it would keep its ports, and the next start would find them taken.
  const setpriv = programAt("setpriv");
  const [command, ...before] =
    setpriv === undefined ? [program] : [setpriv, "--pdeathsig=KILL", "--", program];
  const child = spawn(command, [...before, `--config-dir=${dataDir}`], { stdio: ["ignore", "pipe", "pipe"] });
  const endWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithUs);
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = `${output}${chunk.toString("utf8")}`.slice(-20_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.once("error", (error) => keep(Buffer.from(error.message)));
  const running = (): boolean =>
    child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let closing = false;
  const endedByItself = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => {
      if (!closing) resolve(`${signal ?? `exit code ${code}`}: ${output.trimEnd().split("\n").at(-1)}`);
    }),
  );
  const close = async (): Promise<void> => {
    closing = true;
    process.removeListener("exit", endWithUs);
    if (!running()) return;
    child.kill("SIGTERM");
    await Promise.race([ended, runtime.sleepMs(END_MILLISECONDS)]);
    if (!running()) return;
    child.kill("SIGKILL");
    await ended;
  };
  const url = `http://${address}:${apiPort}`;
  const until = runtime.nowMs() + READY_MILLISECONDS;
  while (!(await answers(url, apiKey))) {
    if (running() && runtime.nowMs() < until) {
      await runtime.sleepMs(50);
      continue;
    }
    await close();
    throw new Error(`PowerDNS is not ready:\n${output}`);
  }
  return { url, address, dnsPort, pid: child.pid ?? -1, ended: endedByItself, close };
}

function configuration(of: {
  dataDir: string;
  database: string;
  apiKey: string;
  address: string;
  apiPort: number;
  dnsPort: number;
}): string {
  return [
    "launch=gsqlite3",
    `gsqlite3-database=${of.database}`,
    "gsqlite3-dnssec=yes",
    "api=yes",
    `api-key=${of.apiKey}`,
    "webserver=yes",
    `webserver-address=${of.address}`,
    `webserver-port=${of.apiPort}`,
    "webserver-allow-from=127.0.0.0/8,::1",
    `local-address=${of.address}`,
    `local-port=${of.dnsPort}`,
    "primary=yes",
    // By default it gives whole zones to everything on this machine.
    "disable-axfr=yes",
    "daemon=no",
    "guardian=no",
    "setuid=",
    "setgid=",
    `socket-dir=${of.dataDir}`,
    "",
  ].join("\n");
}

async function answers(url: string, apiKey: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/api/v1/servers/localhost`, { headers: { "X-API-Key": apiKey } });
    await response.text();
    return response.ok;
  } catch {
    return false;
  }
}

function findProgram(): string | undefined {
  return programAt("pdns_server");
}

/** Debian keeps some in /usr/sbin, which is in root's PATH only. */
function programAt(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}
