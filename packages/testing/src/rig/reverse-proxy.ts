import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findFreePort } from "@kule/postgres/free-port";
import { ownCertificate } from "./own-certificate.ts";

export type ProxyKind = "nginx" | "haproxy" | "caddy";

export type ReverseProxy = {
  /** `https://127.0.0.1:PORT` */
  readonly origin: string;
  /** Where it listens without encryption. */
  readonly plainOrigin: string;
  /** Signs its own certificate. */
  readonly certificatePem: string;
  output(): string;
  end(): Promise<void>;
};

/** The ports behind it. */
export type ProxyTargets = {
  readonly apiPort: number;
  readonly consolePort: number;
  /** Of an API beside the first one, as during an upgrade. */
  readonly nextApiPort?: number;
};

const samples = resolve(import.meta.dirname, "../../../../infra/server/proxies");

/** Undefined when it can be started here, else what is missing. */
export function probeProxy(kind: ProxyKind): string | undefined {
  return programAt(kind) === undefined ? `${kind} is not installed` : undefined;
}

function programAt(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Starts a real one with the sample of infra/server/proxies, with ports and a certificate of its own. */
export async function startReverseProxy(kind: ProxyKind, targets: ProxyTargets): Promise<ReverseProxy> {
  const program = programAt(kind);
  if (program === undefined) throw new Error(`${kind} is not installed`);
  const folder = mkdtempSync(join(tmpdir(), `kule-${kind}-`));
  const [port, plainPort] = [await findFreePort(), await findFreePort()];
  const { keyPem, certificatePem } = ownCertificate();
  const place = {
    folder,
    port,
    plainPort,
    targets,
    certificate: join(folder, "fullchain.pem"),
    key: join(folder, "privkey.pem"),
    both: join(folder, "kule.pem"),
  };
  writeFileSync(place.certificate, certificatePem);
  writeFileSync(place.key, keyPem, { mode: 0o600 });
  writeFileSync(place.both, certificatePem + keyPem, { mode: 0o600 });
  const child = spawn(program, configured[kind](place), {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  try {
    await untilListening(child, port, () => output);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  return {
    origin: `https://127.0.0.1:${port}`,
    plainOrigin: `http://127.0.0.1:${plainPort}`,
    certificatePem,
    output: () => output,
    async end() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await Promise.race([once(child, "exit"), delay(5_000)]);
        child.kill("SIGKILL");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Place = {
  readonly folder: string;
  readonly port: number;
  readonly plainPort: number;
  readonly targets: ProxyTargets;
  readonly certificate: string;
  readonly key: string;
  readonly both: string;
};

/** Writes the sample as it is but for the named texts, each of which must be in it. */
function sample(
  name: string,
  place: Place,
  changes: readonly (readonly [from: string, to: string])[],
): string {
  let text = readFileSync(join(samples, name), "utf8");
  const ports = [
    ["127.0.0.1:8080", `127.0.0.1:${place.targets.apiPort}`],
    ["127.0.0.1:3000", `127.0.0.1:${place.targets.consolePort}`],
  ] as const;
  for (const [from, to] of [...ports, ...changes]) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

type Change = readonly [from: string, to: string];

const beside = ({ nextApiPort }: ProxyTargets, change: (port: number) => Change): Change[] =>
  nextApiPort === undefined ? [] : [change(nextApiPort)];

const configured: Readonly<Record<ProxyKind, (place: Place) => string[]>> = {
  nginx(place) {
    const { folder, port, plainPort } = place;
    const own = sample("nginx.conf", place, [
      ["listen 80;", `listen 127.0.0.1:${plainPort};`],
      ["listen 443 ssl", `listen 127.0.0.1:${port} ssl`],
      ["server_name kule.example", "server_name 127.0.0.1"],
      ...beside(place.targets, (port) => [
        "#server 127.0.0.1:8081 backup max_fails=0;",
        `server 127.0.0.1:${port} backup max_fails=0;`,
      ]),
      ["/etc/kule/tls/fullchain.pem", place.certificate],
      ["/etc/kule/tls/privkey.pem", place.key],
    ]);
    for (const name of ["body", "proxy", "fastcgi", "uwsgi", "scgi"]) mkdirSync(join(folder, name));
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${join(folder, name.replace("client_", ""))};`)
      .join("\n");
    const user = process.getuid?.() === 0 ? "user root;\n" : "";
    const file = join(folder, "nginx.conf");
    writeFileSync(
      file,
      `${user}daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${own}\n}\n`,
    );
    return ["-p", folder, "-e", "stderr", "-c", file];
  },
  haproxy(place) {
    const own = sample("haproxy.cfg", place, [
      ["bind :80\n", `bind 127.0.0.1:${place.plainPort}\n`],
      ["bind :443 ", `bind 127.0.0.1:${place.port} `],
      ["/etc/kule/tls/kule.pem", place.both],
      // It may not raise its limit of open files here.
      ["maxconn 20000", "maxconn 1000"],
      ...beside(place.targets, (port) => [
        "#server api-next 127.0.0.1:8081",
        `server api-next 127.0.0.1:${port}`,
      ]),
      ...(process.getuid?.() === 0 ? [] : ([["    user haproxy\n    group haproxy\n", ""]] as const)),
    ]);
    const file = join(place.folder, "haproxy.cfg");
    writeFileSync(file, own);
    return ["-db", "-f", file];
  },
  caddy(place) {
    const own = sample("Caddyfile", place, [
      ...beside(place.targets, (port) => [
        `reverse_proxy 127.0.0.1:${place.targets.apiPort} {`,
        `reverse_proxy 127.0.0.1:${place.targets.apiPort} 127.0.0.1:${port} {`,
      ]),
      [
        "kule.example {\n",
        `https://127.0.0.1:${place.port} {\n\tbind 127.0.0.1\n\ttls ${place.certificate} ${place.key}\n`,
      ],
    ]);
    const file = join(place.folder, "Caddyfile");
    writeFileSync(
      file,
      `{\n\tadmin off\n\tauto_https disable_redirects\n\thttp_port ${place.plainPort}\n\tstorage file_system ${place.folder}\n}\n${own}`,
    );
    return ["run", "--config", file, "--adapter", "caddyfile"];
  },
};

async function untilListening(child: ChildProcess, port: number, output: () => string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${output()}`);
    if (performance.now() > deadline) throw new Error(`it does not listen:\n${output()}`);
    await delay(50);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      settle(true);
    });
    socket.once("error", () => settle(false));
  });
}
