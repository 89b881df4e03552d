import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import type { Listener, LoadBalancerIntent } from "@kule/rules/load-balancers/intent";
import { certificatePath, renderLoadBalancer } from "@kule/rules/load-balancers/render/render-load-balancer";
import {
  sampleIntent,
  sampleListener,
  sampleMachine,
  sampleTarget,
} from "@kule/rules/load-balancers/testing/sample-intents";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

const run = promisify(execFile);
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
const program = "haproxy";
const part = await requirePart(
  "haproxy",
  () =>
    run(program, ["-v"], { env }).then(
      () => undefined,
      () => "haproxy does not run",
    ),
  import.meta.filename,
);

const thumbprint = "LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ";
const names = ["challenges", "plain", "closed", "sticky", "tls", "https", "proxied"] as const;
type Name = (typeof names)[number];

describe.skipIf(part.missing)("a rendered load balancer that runs", { timeout: 120_000 }, () => {
  let folder: string;
  let haproxy: ChildProcess;
  const servers: Server[] = [];
  const ports = new Map<Name, number>();
  /** First lines of connections to the target of the listener `proxied`. */
  const firstLines: string[] = [];

  const portOf = (name: Name) => ports.get(name) ?? 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kule-lb-runs-"));
    const target = await listening(
      createServer((incoming, answer) => answer.end(JSON.stringify(incoming.rawHeaders))),
    );
    const raw = await listening(
      createTcpServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", (data) => {
          firstLines.push(String(data).split("\r\n")[0] ?? "");
          socket.end();
        });
      }),
    );
    servers.push(target, raw);
    for (const name of names) ports.set(name, await freePort());
    const rendered = renderLoadBalancer(
      intentOf(portOfServer(target), portOfServer(raw), portOf),
      sampleMachine,
    );
    const pem = await selfSigned(folder);
    for (const { path, content } of [
      ...rendered.files,
      ...rendered.certificateIds.map((id) => ({ path: certificatePath(id), content: pem })),
    ]) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), path.endsWith("haproxy.cfg") ? here(content) : content);
    }
    // Fewer open files than so many connections need: it serves all the same.
    const fewFiles = ["--nofile=2048:2048", "--", program, "-db", "-f", "haproxy/haproxy.cfg"];
    haproxy = spawn("prlimit", fewFiles, { cwd: folder, env, stdio: "ignore" });
    await vi.waitUntil(() => answers(portOf("https")), { timeout: 30_000, interval: 100 });
  });

  /** Without root, and away from the machine's own addresses and port 80. */
  const here = (text: string): string =>
    text
      .replace(/^ {4}(user|group|chroot) .*\n/gm, "")
      .replaceAll("/run/kule-lb", folder)
      .replace("bind 0.0.0.0:80\n", `bind 0.0.0.0:${portOf("challenges")}\n`)
      .replaceAll("bind 0.0.0.0:", "bind 127.0.0.1:");

  afterAll(async () => {
    if (haproxy?.exitCode === null) {
      haproxy.kill("SIGKILL");
      await once(haproxy, "exit");
    }
    for (const server of servers) server.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("lets no client say where it comes from, in whatever spelling", async () => {
    const { body } = await get(portOf("plain"), "/", {
      "X-Forwarded-For": "6.6.6.6",
      X_Forwarded_For: "6.6.6.6",
      "x-forwarded_proto": "https",
      "X-Forwarded-Host": "evil.example",
      Forwarded: "for=6.6.6.6",
      "X-Real-IP": "6.6.6.6",
      Proxy: "http://6.6.6.6",
      "X-Other": "kept",
    });
    expect(body).not.toMatch(/6\.6\.6\.6|evil/);
    const headers: string[] = JSON.parse(body).map((word: string) => word.toLowerCase());
    const valuesOf = (name: string) =>
      headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === name);
    expect(valuesOf("x-forwarded-for")).toEqual(["127.0.0.1"]);
    expect(valuesOf("x-forwarded-proto")).toEqual(["http"]);
    expect(headers.filter((word) => /^x[-_]forwarded[-_]/.test(word))).toHaveLength(3);
    expect(valuesOf("x-other")).toEqual(["kept"]);
  });

  test("answers a CA's challenge and redirects everything else to https", async () => {
    const port = portOf("challenges");
    const challenge = await get(port, "/.well-known/acme-challenge/tok_EN-1");
    expect([challenge.status, challenge.body]).toEqual([200, `tok_EN-1.${thumbprint}`]);
    for (const path of ["/a?b=c", "/.well-known/acme-challenge/<b>", "/.well-known/acme-challenge/"]) {
      const { status, headers } = await get(port, path, { Host: "www.example.com:80" });
      expect([status, headers.location]).toEqual([308, `https://www.example.com:${portOf("https")}${path}`]);
    }
  });

  test("refuses clients of other addresses", async () => {
    await expect(get(portOf("closed"), "/")).rejects.toThrow(/ECONNRESET|socket hang up/);
  });

  test("sends the client of a drained target to another one, which it stays at", async () => {
    const first = await get(portOf("sticky"), "/", { Cookie: "SERVERID=tgt_drained" });
    expect(first.headers["set-cookie"]?.join()).toMatch(/^SERVERID=tgt_serving/);
    const cookie = first.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    const second = await get(portOf("sticky"), "/", { Cookie: cookie });
    expect(second.headers["set-cookie"]).toBeUndefined();
    // The target does not see the cookie of the load balancer.
    expect(second.body).not.toContain("SERVERID");
  });

  test("passes nothing through that is no TLS", async () => {
    expect(await sent(portOf("tls"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n")).toBe("");
    expect(firstLines.filter((line) => line.startsWith("GET"))).toEqual([]);
  });

  test("answers with a certificate only for the names that it has one for", async () => {
    expect(await handshake(portOf("https"), "www.a.example")).toBe("TLSv1.3");
    expect(await handshake(portOf("https"), "b.example")).toMatch(/unrecognized name|alert/i);
  });

  test("tells a target that wants it the client's address of each connection", async () => {
    await sent(portOf("proxied"), "hello\r\n");
    expect(firstLines.filter((line) => line.startsWith("PROXY"))).toContainEqual(
      expect.stringMatching(/^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+$/),
    );
  });
});

function intentOf(target: number, raw: number, portOf: (name: Name) => number): LoadBalancerIntent {
  // Checks come too seldom to matter here: a server counts as up until one has failed.
  const healthCheck = { ...sampleListener.healthCheck, intervalSeconds: 300 };
  const listener = (name: Name, more: Partial<Listener> = {}): Listener => ({
    ...sampleListener,
    id: `lsn_${name}`,
    port: portOf(name),
    targetPort: target,
    healthCheck,
    ...more,
  });
  return {
    ...sampleIntent,
    acmeThumbprint: thumbprint,
    targets: [
      { ...sampleTarget, targetId: "tgt_serving", address: "127.0.0.1" },
      { ...sampleTarget, targetId: "tgt_drained", address: "127.0.0.1", drain: true },
    ],
    listeners: [
      listener("challenges", { port: 80, redirectToHttps: true }),
      listener("plain"),
      listener("closed", { allowedCidrs: ["192.0.2.0/24"] }),
      listener("sticky", { sticky: { cookieName: "SERVERID", ttlSeconds: 60 } }),
      listener("tls", { protocol: "tls_passthrough", targetPort: raw }),
      listener("https", {
        protocol: "https",
        certificates: [{ id: "cert_a", domainNames: ["a.example", "*.a.example"] }],
      }),
      listener("proxied", { protocol: "tcp", targetPort: raw, proxyProtocol: "v1" }),
    ],
  };
}

async function listening<S extends Server>(server: S): Promise<S> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const portOfServer = (server: Server): number => (server.address() as AddressInfo).port;

async function freePort(): Promise<number> {
  const server = await listening(createTcpServer());
  const port = portOfServer(server);
  server.close();
  await once(server, "close");
  return port;
}

async function selfSigned(folder: string): Promise<string> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  await run("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=a.example"],
  ]);
  return `${await readFile(certificate, "utf8")}${await readFile(key, "utf8")}`;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

type Answer = {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
};

function get(port: number, path: string, headers: { readonly [name: string]: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, headers, agent: false }, async (answer) => {
      let body = "";
      for await (const chunk of answer) body += chunk;
      resolve({ status: answer.statusCode, headers: answer.headers, body });
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** What comes back until the connection ends. */
function sent(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let back = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (data) => {
      back += data;
    });
    socket.on("error", () => resolve(back));
    socket.on("close", () => resolve(back));
  });
}

/** The version of TLS, or why there is none. */
function handshake(port: number, servername: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: "127.0.0.1", port, servername, rejectUnauthorized: false }, () => {
      resolve(socket.getProtocol() ?? "none");
      socket.destroy();
    });
    socket.on("error", (error) => resolve(error.message));
  });
}
