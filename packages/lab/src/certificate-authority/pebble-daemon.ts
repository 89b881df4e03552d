// Let's Encrypt's test CA as a process of ours: Debian's package pebble. It keeps everything in memory: one that is started
// again knows nothing of before, and has another root.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { type ServerIdentity, serverIdentity } from "../certificate.ts";
import { type Runtime, systemRuntime } from "../runtime.ts";

export interface PebbleDaemonSettings {
  /** Its configuration, and key and certificate of its HTTPS server, which stay the same. */
  readonly dataDir: string;
  /** Of the directory and of its management, at 127.0.0.1. */
  readonly port: number;
  readonly managementPort: number;
  /** Where it looks for answers over HTTP and TLS, instead of 80 and 443. */
  readonly httpPort?: number;
  readonly tlsPort?: number;
  /** `127.0.0.1:5353`; the system's without one. */
  readonly dnsServer?: string;
  /** How many of a hundred good nonces are refused. */
  readonly refusedNoncesPercent?: number;
  /** HMAC keys in base64url by their ids; with them every account needs one. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
  readonly runtime?: Runtime;
}

export interface PebbleDaemon {
  readonly directoryUrl: string;
  readonly origin: string;
  /** Of its HTTPS server: what clients must trust, and what a proxy before it can use. */
  readonly identity: ServerIdentity;
  /** What signs the certificates that it issues, in PEM. */
  rootPem(): Promise<string>;
  /** Resolves when it ends by itself, with how it ended; never after `kill`. */
  readonly ended: Promise<string>;
  /** SIGKILL: it has nothing to keep. */
  kill(): Promise<void>;
}

const ADDRESS = "127.0.0.1";
const READY_MILLISECONDS = 30_000;
const MOST_ROOT_BYTES = 65_536;

/** Undefined when it can be started here, else what is missing. */
export function probePebble(): string | undefined {
  return programAt("pebble") === undefined ? "pebble is not installed (Debian package pebble)" : undefined;
}

/** Resolves when it accepts connections. @throws Error with what it printed, when it ends or is not ready within 30 s */
export async function startPebbleDaemon(settings: PebbleDaemonSettings): Promise<PebbleDaemon> {
  const program = programAt("pebble");
  if (program === undefined) throw new Error("pebble is not installed");
  const { dataDir, port, managementPort, runtime = systemRuntime(1, 1) } = settings;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const identity = serverIdentity(dataDir, [ADDRESS], new Date(runtime.nowMs()));
  const configuration = writeConfiguration(settings, identity);
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
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let isKilled = false;
  const ended = new Promise<string>((resolve) =>
    child.once("close", (code, signal) => {
      if (!isKilled) resolve(`${signal ?? `exit code ${code}`}: ${output.trimEnd().split("\n").at(-1)}`);
    }),
  );
  const endWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithUs);
  const kill = async (): Promise<void> => {
    isKilled = true;
    process.removeListener("exit", endWithUs);
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await closed;
  };
  const until = runtime.nowMs() + READY_MILLISECONDS;
  while (!((await accepts(port)) && (await accepts(managementPort)))) {
    if (child.exitCode === null && child.pid !== undefined && runtime.nowMs() < until) {
      await runtime.sleepMs(30);
      continue;
    }
    await kill();
    throw new Error(`pebble is not ready:\n${output}`);
  }
  const origin = `https://${ADDRESS}:${port}`;
  return {
    directoryUrl: `${origin}/dir`,
    origin,
    identity,
    rootPem: () => read(`https://${ADDRESS}:${managementPort}/roots/0`, identity.certificatePem),
    ended,
    kill,
  };
}

/** @returns the path of its configuration */
function writeConfiguration(settings: PebbleDaemonSettings, identity: ServerIdentity): string {
  const { dataDir, port, managementPort, httpPort = 80, tlsPort = 443, externalAccounts } = settings;
  const file = (name: string, text: string) => {
    writeFileSync(join(dataDir, name), text, { mode: 0o600 });
    return join(dataDir, name);
  };
  return file(
    "pebble.json",
    JSON.stringify({
      pebble: {
        listenAddress: `${ADDRESS}:${port}`,
        managementListenAddress: `${ADDRESS}:${managementPort}`,
        certificate: file("pebble-server.pem", identity.certificatePem),
        privateKey: file("pebble-server.key", identity.keyPem),
        httpPort,
        tlsPort,
        ocspResponderURL: "",
        externalAccountBindingRequired: externalAccounts !== undefined,
        externalAccountMACKeys: externalAccounts ?? {},
      },
    }),
  );
}

function read(url: string, rootsPem: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { ca: rootsPem, timeout: 10_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MOST_ROOT_BYTES) request.destroy(new Error(`${url} answers too much`));
      });
      response.once("end", () =>
        response.statusCode === 200
          ? resolve(text)
          : reject(new Error(`${url} answers ${response.statusCode}`)),
      );
    });
    request.once("timeout", () => request.destroy(new Error(`${url} does not answer`)));
    request.once("error", reject);
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, ADDRESS);
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
