import { connect, type Server } from "node:net";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiWorld } from "./testing/api-world.ts";

let world: ApiWorld;
let server: Server;
let port: number;
let token: string;

beforeAll(async () => {
  world = await ApiWorld.open();
  token = (await world.addOrganisation("raw")).owner.token ?? "";
  server = serve({ fetch: world.app.fetch, hostname: "127.0.0.1", port: 0 }) as Server;
  await new Promise((resolve) => server.once("listening", resolve));
  port = (server.address() as { port: number }).port;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await world.close();
});

const line = (text: string) => `${text}\r\n`;
const head = (start: string, ...headers: string[]) =>
  [start, "Host: kule.example", "Connection: close", ...headers].map(line).join("") + line("");
const auth = () => `Authorization: Bearer ${token}`;
const json = "Content-Type: application/json";

/**
 * Bytes that no client library sends. The status that must be answered; null when closing without an answer
 * is fine.
 */
const requests: {
  readonly [what: string]: readonly [bytes: () => string | Buffer, statuses: readonly (number | null)[]];
} = {
  "a percent sign that escapes nothing": [() => head("GET /api/v1/servers/%zz HTTP/1.1", auth()), [404]],
  "an escaped byte that is no UTF-8": [() => head("GET /api/v1/servers/%ff%fe HTTP/1.1", auth()), [404]],
  "an escaped NUL": [() => head("GET /api/v1/servers/%00 HTTP/1.1", auth()), [404]],
  "an escaped slash": [() => head("GET /api/v1/servers/a%2f..%2f..%2fnetworks HTTP/1.1", auth()), [404]],
  "dots through the path": [() => head("GET /api/v1/../../etc/passwd HTTP/1.1", auth()), [404]],
  "two slashes at the start": [() => head("GET //evil.example/api/v1/me HTTP/1.1", auth()), [404]],
  "an absolute target": [() => head("GET http://evil.example/api/v1/me HTTP/1.1", auth()), [200, 400]],
  "an absolute target of another scheme": [
    () => head("GET ftp://evil.example/api/v1/me HTTP/1.1", auth()),
    [200, 400, 404],
  ],
  "a target that is an asterisk": [() => head("OPTIONS * HTTP/1.1"), [400, 404, 405]],
  "a path of raw UTF-8": [() => Buffer.from(head("GET /api/v1/servers/ışık🗼 HTTP/1.1", auth())), [400, 404]],
  "a path of raw bytes": [
    () => Buffer.from(head("GET /api/v1/servers/\xff\xfe HTTP/1.1", auth()), "latin1"),
    [400, 404],
  ],
  "a path of 10,000 characters": [
    () => head(`GET /api/v1/servers/${"a".repeat(10_000)} HTTP/1.1`, auth()),
    [404],
  ],
  "a path of 100,000 characters": [
    () => head(`GET /api/v1/servers/${"a".repeat(100_000)} HTTP/1.1`, auth()),
    [400, 414, 431],
  ],
  "a path of 15,000 slashes": [() => head(`GET /api/v1/me${"/".repeat(15_000)}x HTTP/1.1`, auth()), [404]],
  "a query of nonsense": [() => head("GET /api/v1/servers?%%%&=&a=%zz&limit=%31 HTTP/1.1", auth()), [422]],
  "a header of 100,000 characters": [
    () => head("GET /api/v1/me HTTP/1.1", `X-Long: ${"a".repeat(100_000)}`),
    [431],
  ],
  "3,000 headers": [
    () => head("GET /api/v1/me HTTP/1.1", ...Array.from({ length: 3000 }, (_, index) => `X-${index}: 1`)),
    [401, 431],
  ],
  "a token of bytes": [
    () => Buffer.from(head("GET /api/v1/me HTTP/1.1", "Authorization: Bearer \xff\xfe"), "latin1"),
    [401],
  ],
  "two tokens": [
    () => head("GET /api/v1/me HTTP/1.1", auth(), "Authorization: Bearer other"),
    [200, 400, 401],
  ],
  "a host that is none": [
    () =>
      `${line("GET /api/v1/me HTTP/1.1")}${line("Host: a b/c?d@[")}${line("Connection: close")}${line("")}`,
    [400],
  ],
  "no host": [() => `${line("GET /api/v1/me HTTP/1.1")}${line("Connection: close")}${line("")}`, [400]],
  "an unknown method": [() => head("BREW /api/v1/servers HTTP/1.1", auth()), [400, 405, 501]],
  TRACE: [() => head("TRACE /api/v1/servers HTTP/1.1", auth()), [400, 404, 405, 501]],
  CONNECT: [() => head("CONNECT evil.example:443 HTTP/1.1", auth()), [null, 400, 405]],
  "an upgrade": [() => head("GET /api/v1/me HTTP/1.1", "Upgrade: websocket", auth()), [200, 400, 426]],
  "an expectation that nobody has": [
    () => head("POST /api/v1/ssh-keys HTTP/1.1", auth(), "Expect: gold"),
    [400, 411, 417],
  ],
  "a negative length": [
    () => head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Content-Length: -1"),
    [400],
  ],
  "two lengths": [
    () =>
      `${head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Content-Length: 2", "Content-Length: 3")}{}`,
    [400],
  ],
  "a length and chunks": [
    () =>
      `${head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Content-Length: 4", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    [400],
  ],
  "chunks that are none": [
    () => `${head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Transfer-Encoding: chunked")}zz\r\n{}\r\n`,
    [null, 400],
  ],
  "chunks of more than a mebibyte": [
    () =>
      `${head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Transfer-Encoding: chunked")}` +
      `${"10000\r\n".concat("a".repeat(65_536), "\r\n").repeat(20)}0\r\n\r\n`,
    [413],
  ],
  "a length of more than a mebibyte": [
    () => head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Content-Length: 2000000"),
    [413],
  ],
  "no body where one is needed": [() => head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json), [400]],
  "a body in an encoding": [
    () =>
      `${head("POST /api/v1/ssh-keys HTTP/1.1", auth(), json, "Content-Encoding: gzip", "Content-Length: 2")}{}`,
    [415],
  ],
  "the preface of HTTP/2": [() => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [null, 400, 505]],
  "HTTP/0.9": [() => "GET /\r\n\r\n", [null, 400, 404, 505]],
  TLS: [() => Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), [null, 400]],
  "nothing but line ends": [() => "\r\n\r\n\r\n\r\nX\r\n\r\n", [null, 400]],
};

describe("bytes on the wire", () => {
  it.each(Object.entries(requests))("%s: are answered", async (_what, [bytes, statuses]) => {
    const answer = await exchange(bytes());
    expect(statuses, answer.slice(0, 400)).toContain(statusOf(answer));
    // And the process continues to serve.
    expect(statusOf(await exchange(head("GET /api/v1/healthz HTTP/1.1")))).toBe(200);
  });

  it("that stop halfway delay no others", async () => {
    const halfway = Array.from({ length: 50 }, () => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(`${line("POST /api/v1/ssh-keys HTTP/1.1")}${line("Host: kule")}${line(auth())}`);
      return socket;
    });
    expect(statusOf(await exchange(head("GET /api/v1/me HTTP/1.1", auth())))).toBe(200);
    for (const socket of halfway) socket.destroy();
  });
});

function statusOf(answer: string): number | null {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}

/**
 * Sends the bytes and reads until the server closes, or has sent everything that it will send without more of
 * them.
 */
function exchange(bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    const finish = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      // The rest of a refused body is not waited for.
      if (/^HTTP\/1\.1 (413|417)/.test(answer) && answer.includes("}")) finish();
    });
    socket.on("error", () => finish());
    socket.on("close", finish);
    socket.on("end", finish);
  });
}
