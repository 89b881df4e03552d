// Let's Encrypt's test CA as a process of ours: Debian's package pebble. It keeps everything in memory.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ServerIdentity, serverIdentity } from "@kule/lab/certificate";
import { findFreePort } from "@kule/postgres/free-port";

export interface PebbleSettings {
  /** `127.0.0.1:5353`; the system's without one. */
  readonly dnsServer?: string;
  /** How many of a hundred good nonces are refused. */
  readonly refusedNoncesPercent?: number;
  /** HMAC keys in base64url by their ids; with them every account needs one. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
}

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

const READY_MILLISECONDS = 30_000;

/** Undefined when it can be started here, else what is missing. */
export function probePebble(): string | undefined {
  return programAt("pebble") === undefined ? "pebble is not installed (Debian package pebble)" : undefined;
}

/** Resolves when it accepts connections. @throws Error with what it printed when it does not */
export async function startPebble(settings: PebbleSettings = {}): Promise<Pebble> {
  const directory = mkdtempSync(join(tmpdir(), "kule-pebble-"));
  const identity = serverIdentity(directory, ["127.0.0.1"], new Date());
  const [port, managementPort, httpPort, tlsPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const configuration = file(
    "pebble.json",
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: file("server.pem", identity.certificatePem),
        privateKey: file("server.key", identity.keyPem),
        httpPort,
        tlsPort,
        ocspResponderURL: "",
        externalAccountBindingRequired: settings.externalAccounts !== undefined,
        externalAccountMACKeys: settings.externalAccounts ?? {},
      },
    }),
  );
  let running = await startProcess(configuration, port, settings);
  const origin = `https://127.0.0.1:${port}`;
  return {
    directoryUrl: `${origin}/dir`,
    origin,
    identity,
    httpPort,
    restart: async () => {
      await running.kill();
      running = await startProcess(configuration, port, settings);
    },
    close: async () => {
      await running.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startProcess(configuration: string, port: number, settings: PebbleSettings) {
  const program = programAt("pebble");
  if (program === undefined) throw new Error("pebble is not installed");
  // With util-linux a killed parent takes it along.
  const setpriv = programAt("setpriv");
  const [command, ...before] =
    setpriv === undefined ? [program] : [setpriv, "--pdeathsig=KILL", "--", program];
  const dns = settings.dnsServer === undefined ? [] : ["-dnsserver", settings.dnsServer];
  const child = spawn(command, [...before, "-config", configuration, ...dns], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PEBBLE_VA_NOSLEEP: "1",
      PEBBLE_WFE_NONCEREJECT: String(settings.refusedNoncesPercent ?? 0),
    },
  });
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = `${output}${chunk.toString("utf8")}`.slice(-20_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.once("error", (error) => keep(Buffer.from(error.message)));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const endWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithUs);
  const kill = async (): Promise<void> => {
    process.removeListener("exit", endWithUs);
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await ended;
  };
  const until = Date.now() + READY_MILLISECONDS;
  while (!(await accepts(port))) {
    if (child.exitCode === null && child.pid !== undefined && Date.now() < until) {
      await delay(30);
      continue;
    }
    await kill();
    throw new Error(`pebble is not ready:\n${output}`);
  }
  return { kill };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function programAt(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}
