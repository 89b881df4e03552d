import { randomBytes } from "node:crypto";
import { findFreePort } from "@kule/postgres/free-port";
import type { Answer } from "dns-packet";
import { afterEach, describe, expect, test } from "vitest";
import { askNameServer, type NameServerAnswer } from "./ask-name-server.ts";
import { decodeMessage } from "./message.ts";
import {
  often,
  replyTo,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from "./testing/scripted-server.ts";

const A: Answer = { name: "www.example", type: "A", ttl: 60, data: "192.0.2.1" };
const TRUNCATED = (1 << 10) | (1 << 9);
let server: ScriptedServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function askScripted(
  script: Script,
  name = "www.example.",
  milliseconds = 20_000,
): Promise<NameServerAnswer> {
  server = await startScriptedServer(script);
  return askNameServer(server, { name, type: "A" }, { deadlineMilliseconds: milliseconds });
}

/** A message with this record data after the question, whose counts say `answers`. */
function raw(query: Buffer, tail: Buffer, answers = 1): Buffer {
  const end = query.indexOf(0, 12) + 5;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(0x8400, 2);
  head.writeUInt16BE(answers, 6);
  head.writeUInt16BE(0, 8);
  head.writeUInt16BE(0, 10);
  return Buffer.concat([head, tail]);
}
/** Type, class, TTL and data of a record after its name. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([head, data]);
}

describe("an honest name server", () => {
  test("is answered with what it says", async () => {
    expect(await askScripted((query) => [replyTo(query, { answers: [A] })])).toEqual({
      outcome: "answered",
      code: "NOERROR",
      authoritative: true,
      overTcp: false,
      answers: [{ name: "www.example.", type: "A", ttlSeconds: 60, content: "192.0.2.1" }],
      authorities: [],
      additionals: [],
    });
  });

  test("that loses the first datagram gets a second", async () => {
    let count = 0;
    const answer = await askScripted(
      (query) => {
        count += 1;
        return count === 1 ? [] : [replyTo(query, { answers: [A] })];
      },
      "www.example.",
      5_000,
    );
    expect(answer.outcome).toBe("answered");
  });

  test("that does not know EDNS is asked without it", async () => {
    const answer = await askScripted((query) =>
      query.readUInt16BE(10) > 0 ? [replyTo(query, { flags: 1 })] : [replyTo(query, { answers: [A] })],
    );
    expect(answer).toMatchObject({
      outcome: "answered",
      code: "NOERROR",
      answers: [{ content: "192.0.2.1" }],
    });
  });

  test("that truncates is asked over TCP", async () => {
    const answer = await askScripted((query, overTcp) => [
      overTcp ? replyTo(query, { answers: [A] }) : replyTo(query, { flags: TRUNCATED }),
    ]);
    expect(answer).toMatchObject({ outcome: "answered", overTcp: true, answers: [{ content: "192.0.2.1" }] });
  });
});

describe("no answer", () => {
  test("a silent server is a timeout, within the deadline", async () => {
    const before = performance.now();
    expect(await askScripted(() => [], "www.example.", 400)).toEqual({
      outcome: "not-answered",
      reason: "timeout",
    });
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  test("a closed port is unreachable, over UDP and TCP", async () => {
    const nobody = { address: "127.0.0.1", port: await findFreePort() };
    for (const overTcp of [false, true])
      expect(await askNameServer(nobody, { name: "a.example", type: "A" }, { overTcp })).toEqual({
        outcome: "not-answered",
        reason: "unreachable",
      });
  });

  test("an address that cannot be reached is told as that", async () => {
    // The broadcast address of the loopback: the kernel refuses to connect to it.
    for (const overTcp of [false, true])
      expect(
        await askNameServer(
          { address: "127.255.255.255", port: 53 },
          { name: "a.example", type: "A" },
          { overTcp },
        ),
      ).toEqual({ outcome: "not-answered", reason: "unreachable" });
  });

  test("truncation without TCP is told as that", async () => {
    expect(
      await askScripted(
        (query, tcp) => (tcp ? [] : [replyTo(query, { flags: TRUNCATED })]),
        "www.example.",
        1_500,
      ),
    ).toEqual({
      outcome: "not-answered",
      reason: "truncated",
    });
  });

  test.each([
    "a..example",
    `${"a".repeat(64)}.example`,
    `${"abcdefg.".repeat(32)}example`,
    "a b.example",
    "w\u00f6w.example",
    "a\\.b.example",
    "",
  ])("the name %j is not asked for", async (name) => {
    expect(await askScripted((query) => [replyTo(query, {})], name === "" ? ".." : name)).toEqual({
      outcome: "not-answered",
      reason: "bad-question",
    });
    expect(server?.questions()).toBe(0);
  });

  test("what is no address is not asked", async () => {
    for (const to of [
      { address: "127.0.0.1", port: 0 },
      { address: "127.0.0.1", port: 70_000 },
      { address: "999.1.1.1", port: 53 },
      { address: "localhost", port: 53 },
    ]) {
      const answer = await askNameServer(to, { name: "a.example", type: "A" }, { deadlineMilliseconds: 500 });
      expect(answer).toEqual({ outcome: "not-answered", reason: "bad-question" });
    }
  });
});

describe("a hostile name server", () => {
  test("cannot end a question with guesses: the true answer after them counts", async () => {
    const answer = await askScripted((query) => {
      const wrongId = replyTo(query, { answers: [{ ...A, data: "192.0.2.66" }] });
      wrongId.writeUInt16BE(query.readUInt16BE(0) ^ 1, 0);
      const wrongQuestion = Buffer.from(replyTo(query, { answers: [{ ...A, data: "192.0.2.66" }] }));
      wrongQuestion.write("xxx", 13);
      const noResponse = Buffer.from(query);
      return [
        wrongId,
        wrongQuestion,
        noResponse,
        Buffer.from("x"),
        randomBytes(300),
        replyTo(query, { answers: [A] }),
      ];
    });
    expect(answer).toMatchObject({ answers: [{ content: "192.0.2.1" }] });
  });

  test.each<[string, (query: Buffer) => Buffer]>([
    [
      "a name that points to itself",
      (query) =>
        raw(
          query,
          Buffer.concat([Buffer.from([0xc0, query.indexOf(0, 12) + 5]), record(1, Buffer.alloc(4))]),
        ),
    ],
    [
      "a name that points forwards",
      (query) => raw(query, Buffer.concat([Buffer.from([0xff, 0xff]), record(1, Buffer.alloc(4))])),
    ],
    ["a label that is cut off", (query) => raw(query, Buffer.from([63, 65]))],
    [
      "a reserved label",
      (query) => raw(query, Buffer.concat([Buffer.from([0x80, 0]), record(1, Buffer.alloc(4))])),
    ],
    [
      "more data than there is",
      (query) =>
        raw(query, Buffer.concat([Buffer.from([0xc0, 12]), record(1, Buffer.alloc(4)).subarray(0, 12)])),
    ],
    ["10,000 records that are not there", (query) => raw(query, Buffer.alloc(0), 10_000)],
    [
      "a dot inside of a label",
      (query) =>
        raw(query, Buffer.concat([Buffer.from([3, 0x61, 0x2e, 0x62, 0]), record(1, Buffer.alloc(4))])),
    ],
    [
      "a name that is not ASCII",
      (query) => raw(query, Buffer.concat([Buffer.from([2, 0xc3, 0xb6, 0]), record(1, Buffer.alloc(4))])),
    ],
    [
      "an alias that points to itself",
      (query) =>
        raw(
          query,
          Buffer.concat([
            Buffer.from([0xc0, 12]),
            record(5, Buffer.from([0xc0, query.indexOf(0, 12) + 5 + 12])),
          ]),
        ),
    ],
    [
      "a TXT whose string is longer than its data",
      (query) => raw(query, Buffer.concat([Buffer.from([0xc0, 12]), record(16, Buffer.from([200, 65]))])),
    ],
    [
      "a datagram of more than 4,096 bytes",
      (query) => Buffer.concat([replyTo(query, { answers: [A] }), Buffer.alloc(4_100)]),
    ],
  ])("gets nowhere with %s", async (_title, make) => {
    expect(await askScripted((query) => often(make(query)))).toEqual({
      outcome: "not-answered",
      reason: "malformed",
    });
  });

  test("gets nowhere with a chain of 1,000 pointers, and quickly", async () => {
    const pointers = Buffer.alloc(2_000);
    const answer = await askScripted((query) => {
      const start = query.indexOf(0, 12) + 5 + 11;
      for (let index = 0; index < 1_000; index += 1)
        pointers.writeUInt16BE(0xc000 | (index === 0 ? 12 : start + (index - 1) * 2), index * 2);
      const chain = Buffer.concat([Buffer.from([0]), record(10, pointers)]);
      const last = Buffer.concat([
        Buffer.from([0xc0 | ((start + 1_998) >> 8), (start + 1_998) & 255]),
        record(1, Buffer.alloc(4)),
      ]);
      return often(raw(query, Buffer.concat([chain, last]), 2));
    });
    expect(answer).toEqual({ outcome: "not-answered", reason: "malformed" });
  });

  test("gets nowhere with 2,500 whole records", async () => {
    const one = Buffer.concat([Buffer.from([0]), record(10, Buffer.alloc(0))]);
    const many =
      (count: number): Script =>
      (query) => [raw(query, Buffer.concat(Array.from({ length: count }, () => one)), count)];
    for (const [count, outcome] of [
      [1_900, "answered"],
      [2_500, "not-answered"],
    ] as const) {
      server = await startScriptedServer(many(count));
      const answer = await askNameServer(server, { name: "www.example", type: "A" }, { overTcp: true });
      expect([count, answer.outcome]).toEqual([count, outcome]);
      await server.close();
    }
    server = undefined;
  });

  test("cannot hold a TCP question open with half an answer", async () => {
    server = await startScriptedServer((query, overTcp) => [
      overTcp ? Buffer.alloc(40) : replyTo(query, { flags: TRUNCATED }),
    ]);
    const answer = await askNameServer(
      server,
      { name: "www.example", type: "A" },
      { deadlineMilliseconds: 20_000 },
    );
    expect(answer).toEqual({ outcome: "not-answered", reason: "truncated" });
  });
});

test("no bytes make the reading of a message throw", () => {
  const query = Buffer.from(
    "00078400000100010000000003777777076578616d706c650000010001c00c000100010000003c0004c0000201",
    "hex",
  );
  expect(decodeMessage(query)).not.toBeNull();
  for (let round = 0; round < 20_000; round += 1) {
    const bytes = Buffer.from(query);
    const [count = 0, ...changes] = randomBytes(13);
    for (let index = 0; index < count % 6; index += 1)
      bytes[(changes[index * 2] ?? 0) % bytes.length] = changes[index * 2 + 1] ?? 0;
    decodeMessage(round % 3 === 0 ? randomBytes(60) : bytes.subarray(0, bytes.length - (count % 3)));
  }
});
