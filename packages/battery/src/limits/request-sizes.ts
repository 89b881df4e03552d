import { connect } from "node:net";
import type { ServedApi } from "../served-api/served-api.ts";
import type { Found } from "./caller-limits.ts";

const mebibyte = 1024 * 1024;

/** The status of a request of these bytes; null when the connection ends without one within ten seconds. */
function statusOf(port: number, parts: Iterable<string | Buffer>): Promise<number | null> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1");
    const finish = () => {
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
      resolve(status === undefined ? null : Number(status));
    };
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      if (answer.includes("\r\n\r\n")) finish();
    });
    // A client that is refused while it still sends sees its writes fail first, and the answer after that.
    socket.on("error", () => {});
    socket.on("end", finish);
    socket.on("close", finish);
    socket.setTimeout(10_000, finish);
    const source = parts[Symbol.iterator]();
    // One turn of the event loop for each part, so that an early answer is read.
    const send = () => {
      const next = source.next();
      if (next.done || !socket.writable) return;
      if (socket.write(next.value)) setImmediate(send);
    };
    socket.on("drain", send);
    socket.once("connect", send);
  });
}

/** So that the answer to the first part is read before the last is sent. */
function* inParts(text: string): Iterable<string> {
  for (let from = 0; from < text.length; from += 16_384) yield text.slice(from, from + 16_384);
}

function* chunked(head: string, bytes: number): Iterable<string | Buffer> {
  yield `${head}Transfer-Encoding: chunked\r\n\r\n`;
  const chunk = Buffer.alloc(65_536, 0x20);
  for (let sent = 0; sent < bytes; sent += chunk.length)
    yield Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]);
  yield "0\r\n\r\n";
}

function* declared(head: string, bytes: number, sent = bytes): Iterable<string | Buffer> {
  yield `${head}Content-Length: ${bytes}\r\n\r\n`;
  const chunk = Buffer.alloc(65_536, 0x20);
  for (let done = 0; done < sent; done += chunk.length)
    yield chunk.subarray(0, Math.min(chunk.length, sent - done));
}

/**
 * Bodies around the limit, headers by the thousand; and the process neither ends nor keeps what it refused.
 */
export async function requestSizes({ replicas: [first], seeded }: ServedApi): Promise<Found> {
  if (first === undefined) throw new Error("nothing is served");
  const port = Number(new URL(first.url).port);
  const head = (line: string, ...headers: string[]) =>
    `${[line, "Host: kule", "Connection: close", `Authorization: Bearer ${seeded.organisation_token}`, ...headers].join("\r\n")}\r\n`;
  const post = head("POST /api/v1/ssh-keys HTTP/1.1", "Content-Type: application/json");
  const signIn = head("POST /api/v1/auth/login HTTP/1.1", "Content-Type: application/json");
  const get = (...headers: string[]) => inParts(`${head("GET /api/v1/me HTTP/1.1", ...headers)}\r\n`);
  const many = (count: number, value: string) =>
    Array.from({ length: count }, (_, index) => `X-${index}: ${value}`);
  const cases: readonly (readonly [string, () => Iterable<string | Buffer>, readonly (number | null)[]])[] = [
    ["a body of 1 MiB", () => declared(post, mebibyte), [400]],
    ["a body of 1 MiB and a byte", () => declared(post, mebibyte + 1), [413]],
    ["a body that says it has 1 TiB", () => declared(post, 2 ** 40, mebibyte), [413]],
    ["a sign-in of 16 KiB", () => declared(signIn, 16 * 1024), [400]],
    ["a sign-in of 17 KiB", () => declared(signIn, 17 * 1024), [413]],
    ["a sign-in of 64 KiB in chunks", () => chunked(signIn, 65_536), [413]],
    ["a body of 1 MiB in chunks", () => chunked(post, mebibyte), [400]],
    ["a body of 2 MiB in chunks", () => chunked(post, 2 * mebibyte), [413]],
    // Beyond what is read and thrown away for politeness, the connection may end without an answer.
    ["a body of 200 MiB in chunks", () => chunked(post, 200 * mebibyte), [413, null]],
    ["10 headers", () => get(...many(10, "1")), [200]],
    ["10,000 headers", () => get(...many(10_000, "1")), [431]],
    ["10,000 headers of 100 characters", () => get(...many(10_000, "a".repeat(100))), [431]],
    ["a header of 1 MiB", () => get(`X-Long: ${"a".repeat(mebibyte)}`), [431]],
  ];
  const violations: string[] = [];
  for (const [what, parts, expected] of cases) {
    let status = await statusOf(port, parts());
    // A refused client that still sends is disconnected in the end, and its own system may drop the answer then.
    const isRefused = expected.includes(413) || expected.includes(431);
    for (let again = 0; again < 4 && status === null && isRefused; again += 1)
      status = await statusOf(port, parts());
    if (!expected.includes(status))
      violations.push(`${what}: ${status ?? "no answer"} and not ${expected.join(" or ")}`);
  }
  if (!first.process.running()) violations.push("the process ended");
  return { cases: cases.length, violations };
}
