import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ScriptedCa, startScriptedCa } from "../testing/scripted-ca.ts";
import { type AcmeAccount, openAccount } from "./account.ts";
import { makeAccountKey } from "./account-key.ts";
import { type AcmeClient, type AcmeSettings, openAcmeClient } from "./acme-client.ts";
import { AcmeUnavailable } from "./acme-error.ts";
import { readOrder } from "./order.ts";

const key = makeAccountKey();
const NOW = new Date("2026-06-01T00:00:00Z");

let ca: ScriptedCa;
let clients: AcmeClient[];
let account: AcmeAccount;
beforeEach(async () => {
  ca = await startScriptedCa();
  clients = [];
  account = { key, accountUrl: `${ca.origin}/account/1` };
});
afterEach(async () => {
  for (const client of clients) client.close();
  await ca.close();
});

function open(settings: Partial<AcmeSettings> = {}): AcmeClient {
  const client = openAcmeClient({
    directoryUrl: ca.directoryUrl,
    network: "any",
    allowHttp: true,
    now: () => NOW,
    ...settings,
  });
  clients.push(client);
  return client;
}

const readAt = (path: string, settings: Partial<AcmeSettings> = {}) =>
  readOrder(open(settings), account, `${ca.origin}${path}`);

const unavailable = (reason: string, text = /./) =>
  expect.objectContaining({ name: "AcmeUnavailable", reason, message: expect.stringMatching(text) });

describe("A CA that", () => {
  test("answers without end is cut off at the limit", async () => {
    let sentBytes = 0;
    let closed: Promise<string> | undefined;
    const chunk = Buffer.alloc(64 * 1024, 0x20);
    async function* endless() {
      for (;;) {
        sentBytes += chunk.length;
        yield chunk;
      }
    }
    ca.on("/order/1", (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      closed = pipeline(endless, response).then(
        () => "ended",
        (error) => error.code,
      );
      return undefined;
    });
    await expect(readAt("/order/1")).rejects.toEqual(unavailable("bad-answer", /larger than 131072 bytes/));
    expect(await closed).toBe("ERR_STREAM_PREMATURE_CLOSE");
    expect(sentBytes).toBeLessThan(32 * 2 ** 20);
  });

  test("answers a byte at a time, or not at all, is given up at the deadline", async () => {
    const drip = (response: ServerResponse) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      const timer = setInterval(() => response.write(" "), 20);
      response.once("close", () => clearInterval(timer));
    };
    ca.on("/order/1", (_, response) => void drip(response));
    ca.on("/order/2", () => undefined);
    for (const path of ["/order/1", "/order/2"])
      await expect(readAt(path, { deadlineMilliseconds: 300 })).rejects.toEqual(
        unavailable("timeout", /300 ms/),
      );
    ca.on("/newNonce", () => undefined);
    await expect(readAt("/order/3", { deadlineMilliseconds: 300 })).rejects.toEqual(unavailable("timeout"));
  });

  test("is not waited for any longer when the caller gives up", async () => {
    ca.on("/order/1", () => undefined);
    const reason = new Error("the worker ends");
    const giveUp = new AbortController();
    const waiting = readOrder(open(), account, `${ca.origin}/order/1`, giveUp.signal);
    await expect.poll(() => ca.asked.at(-1)?.path).toBe("/order/1");
    giveUp.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    const count = ca.asked.length;
    await expect(readOrder(open(), account, `${ca.origin}/order/1`, giveUp.signal)).rejects.toBe(reason);
    expect(ca.asked.length).toBe(count);
  });

  test("answers with a page is not taken for a CA, whatever its status", async () => {
    for (const status of [200, 400, 403, 404, 410, 429]) {
      ca.on("/order/1", { status, body: "<html>hello</html>" });
      await expect(readAt("/order/1"), String(status)).rejects.toEqual(
        unavailable(status === 429 ? "server-error" : "bad-answer"),
      );
    }
    ca.on("/dir", { body: "<html>hello</html>" });
    await expect(readAt("/order/1")).rejects.toEqual(unavailable("bad-answer"));
  });

  test("leads elsewhere by a redirect is not followed", async () => {
    ca.on("/order/1", { status: 302, headers: { Location: `${ca.origin}/elsewhere` } });
    await expect(readAt("/order/1")).rejects.toEqual(unavailable("bad-answer", /302/));
    expect(ca.asked.map(({ path }) => path)).not.toContain("/elsewhere");
  });

  test("gives no nonce, or one that is none, cannot be used", async () => {
    for (const nonce of ["a b", "", "a".repeat(600)]) {
      ca.on("/newNonce", { headers: { "Replay-Nonce": nonce } });
      await expect(readAt("/order/1"), nonce).rejects.toEqual(unavailable("bad-answer"));
    }
    expect(ca.asked.map(({ path }) => path)).not.toContain("/order/1");
  });

  test("cannot be reached says why", async () => {
    const gone = ca.directoryUrl;
    await ca.close();
    await expect(open({ directoryUrl: gone }).directory()).rejects.toEqual(
      unavailable("unreachable", /ECONNREFUSED/),
    );
    ca = await startScriptedCa();
  });

  test("has closed a kept connection is asked again over a new one", async () => {
    const order = { status: "pending", identifiers: [], authorizations: [], finalize: `${ca.origin}/f` };
    ca.on("/order/1", { body: order });
    const client = open();
    await readOrder(client, account, `${ca.origin}/order/1`);
    let cuts = 0;
    ca.on("/order/1", (_, response) => {
      cuts += 1;
      if (cuts > 1) return { body: order };
      response.socket?.destroy();
      return undefined;
    });
    expect((await readOrder(client, account, `${ca.origin}/order/1`)).status).toBe("pending");
    expect(cuts).toBe(2);
  });
});

describe("A URL that a CA gives", () => {
  test("is asked only over HTTPS", async () => {
    await expect(open({ allowHttp: false }).directory()).rejects.toEqual(
      unavailable("address-refused", /https/),
    );
    for (const url of ["ftp://a.test/", "file:///etc/passwd", "javascript:alert(1)", "https://me:pw@a.test/"])
      await expect(readOrder(open(), account, url), url).rejects.toEqual(unavailable("address-refused"));
    await expect(readOrder(open(), account, `${ca.origin}/${"a".repeat(3_000)}`)).rejects.toEqual(
      unavailable("address-refused", /longer than 2048/),
    );
    for (const { path } of ca.asked) expect(path).toMatch(/^\/(dir|newNonce)$/);
  });

  test("does not lead a public CA's client to other addresses than those of the Internet", async () => {
    const settings = { network: "public" as const };
    const { port } = new URL(ca.origin);
    for (const host of ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "10.0.0.1"])
      await expect(
        open({ ...settings, directoryUrl: `http://${host}:${port}/dir` }).directory(),
        host,
      ).rejects.toEqual(unavailable("address-refused", /of the Internet/));
    expect(ca.connections()).toBe(0);
  });

  test("of its directory is taken only when it is one", async () => {
    const whole = { newNonce: `${ca.origin}/n`, newAccount: `${ca.origin}/a`, newOrder: `${ca.origin}/o` };
    for (const wrong of [
      [],
      {},
      { ...whole, newOrder: undefined },
      { ...whole, newNonce: 1 },
      { ...whole, newAccount: "not a url" },
      { ...whole, renewalInfo: {} },
      { ...whole, meta: "x" },
    ]) {
      ca.on("/dir", { body: wrong });
      await expect(open().directory(), JSON.stringify(wrong)).rejects.toThrow(AcmeUnavailable);
    }
    ca.on("/dir", { body: whole });
    expect(await open().directory()).toMatchObject({ ...whole, revokeCert: null, renewalInfo: null });
  });

  test("of its directory is kept for an hour and then read again", async () => {
    let now = NOW;
    const client = open({ now: () => now });
    const directories = () => ca.asked.filter(({ path }) => path === "/dir").length;
    await client.directory();
    now = new Date(NOW.getTime() + 3_599_000);
    await client.directory();
    expect(directories()).toBe(1);
    now = new Date(NOW.getTime() + 3_601_000);
    await client.directory();
    expect(directories()).toBe(2);
  });
});

describe("A refused nonce", () => {
  test("is replaced by the one of the refusal, three times at most", async () => {
    ca.on("/newAccount", { status: 400, body: ca.problem("badNonce", "no") });
    await expect(openAccount(open(), key, { contactEmails: [], agreesToTerms: true })).rejects.toMatchObject({
      problem: { type: "badNonce" },
    });
    const posts = ca.asked.filter(({ method }) => method === "POST");
    expect(posts).toHaveLength(4);
    // The first nonces are those of the directory's and the nonce's answers.
    expect(posts.map(({ header }) => header.nonce)).toEqual(["nonce2", "nonce3", "nonce4", "nonce5"]);
  });
});
