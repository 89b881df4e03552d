import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificateRequest } from "../certificate-request.ts";
import { importKeys, makeCertificate, makeChain, NOW } from "../testing/made-certificates.ts";
import { type ScriptedCa, startScriptedCa } from "../testing/scripted-ca.ts";
import { type AcmeAccount, openAccount } from "./account.ts";
import { makeAccountKey } from "./account-key.ts";
import { type AcmeClient, openAcmeClient } from "./acme-client.ts";
import { answerChallenge, readAuthorization } from "./authorization.ts";
import { downloadCertificate, revokeCertificate } from "./issued-certificate.ts";
import { createOrder, finalizeOrder, readOrder } from "./order.ts";

const key = makeAccountKey();
const names = ["a.test", "b.test"];

let ca: ScriptedCa;
let client: AcmeClient;
let account: AcmeAccount;
beforeEach(async () => {
  ca = await startScriptedCa();
  client = openAcmeClient({ directoryUrl: ca.directoryUrl, network: "any", allowHttp: true, now: () => NOW });
  account = { key, accountUrl: `${ca.origin}/account/1` };
});
afterEach(async () => {
  client.close();
  await ca.close();
});

const at = (path: string) => `${ca.origin}${path}`;
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const order = (more: object = {}) => ({
  status: "pending",
  identifiers: names.map((value) => ({ type: "dns", value })),
  authorizations: [at("/authorization/1"), at("/authorization/2")],
  finalize: at("/finalize/1"),
  ...more,
});
const authorization = (more: object = {}) => ({
  status: "pending",
  identifier: { type: "dns", value: "a.test" },
  challenges: [
    { type: "dns-01", url: at("/challenge/1"), status: "pending", token: "token-1" },
    { type: "tls-alpn-01", url: 7 },
  ],
  ...more,
});

describe("A refusal of a CA", () => {
  test("for its limits says when to come again, and what is wrong with which name", async () => {
    const hostile = `too\nmany\u202e ${"x".repeat(2_000)}`;
    const subproblems = [
      {
        type: "urn:ietf:params:acme:error:caa",
        detail: "CAA forbids",
        identifier: { type: "dns", value: "a.test" },
      },
      { type: "about:blank", detail: hostile, identifier: 7 },
      "nothing",
      ...Array.from({ length: 200 }, () => ({ type: "x", detail: "y" })),
    ];
    ca.on("/newOrder", {
      status: 429,
      headers: { "Retry-After": "3600" },
      body: ca.problem("rateLimited", hostile, { subproblems }),
    });
    const error = await createOrder(client, account, { names }).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "AcmeRefused", status: 429, retryAt: later(3_600) });
    expect(error.problem.type).toBe("rateLimited");
    expect(error.problem.detail).toMatch(/^too many {2}x+$/);
    expect(error.problem.detail).toHaveLength(500);
    expect(error.problem.subproblems.length).toBeLessThanOrEqual(100);
    expect(error.problem.subproblems.slice(0, 2)).toMatchObject([
      { name: "a.test", type: "caa", detail: "CAA forbids" },
      { name: null, type: "other" },
    ]);
  });

  test.each([
    ["a number of seconds", "120", 120],
    ["a date", "Mon, 01 Jun 2026 00:10:00 GMT", 600],
    ["a date that is over", "Sun, 31 May 2026 00:00:00 GMT", 1],
    ["a year", "31536000", 7 * 86_400],
    ["no time at all", "soon", null],
  ])("may name the time as %s", async (_, header, seconds) => {
    ca.on("/newOrder", { status: 503, headers: { "Retry-After": header }, body: "<html>down</html>" });
    await expect(createOrder(client, account, { names })).rejects.toMatchObject({
      name: "AcmeUnavailable",
      reason: "server-error",
      retryAt: seconds === null ? null : later(seconds),
    });
  });

  test("that it does not know the account or the order is told from every other", async () => {
    ca.on("/order/1", { status: 400, body: ca.problem("accountDoesNotExist", "who?") });
    await expect(readOrder(client, account, at("/order/1"))).rejects.toMatchObject({
      name: "AcmeGone",
      what: "account",
    });
    for (const answer of [{ status: 404 }, { status: 404, body: ca.problem("malformed", "no such order") }]) {
      ca.on("/order/1", answer);
      await expect(readOrder(client, account, at("/order/1"))).rejects.toMatchObject({
        name: "AcmeGone",
        what: "order",
      });
    }
    ca.on("/order/1", { status: 403, body: ca.problem("unauthorized", "not yours") });
    await expect(readOrder(client, account, at("/order/1"))).rejects.toMatchObject({
      name: "AcmeRefused",
      problem: { type: "unauthorized" },
      retryAt: null,
    });
  });

  test("of an account that was ended is not taken for an account", async () => {
    const headers = { Location: at("/account/1") };
    ca.on("/newAccount", { headers, body: { status: "deactivated" } });
    const settings = { contactEmails: ["ops@a.test"], agreesToTerms: true };
    await expect(openAccount(client, key, settings)).rejects.toMatchObject({
      problem: { type: "unauthorized" },
    });
    ca.on("/newAccount", { headers, body: { status: "valid" } });
    expect((await openAccount(client, key, settings)).accountUrl).toBe(at("/account/1"));
    expect(ca.asked.at(-1)?.payload).toEqual({ termsOfServiceAgreed: true, contact: ["mailto:ops@a.test"] });
  });
});

describe("An order", () => {
  test("says when to look again, within limits, and nothing when it is at an end", async () => {
    for (const [header, seconds] of [
      ["30", 30],
      ["0", 1],
      ["99999999", 3_600],
      ["", 3],
    ] as const) {
      ca.on("/order/1", { headers: { "Retry-After": header }, body: order({ status: "processing" }) });
      expect((await readOrder(client, account, at("/order/1"))).lookAgainAt, header).toEqual(later(seconds));
    }
    ca.on("/order/1", { body: order({ status: "invalid", error: ca.problem("dns", "no TXT record") }) });
    expect(await readOrder(client, account, at("/order/1"))).toMatchObject({
      lookAgainAt: null,
      problem: { type: "dns", detail: "no TXT record" },
    });
  });

  test("that is not as an order has to be is not used", async () => {
    for (const wrong of [
      [],
      order({ status: "fine" }),
      order({ identifiers: Array.from({ length: 101 }, () => ({ type: "dns", value: "a.test" })) }),
      order({ identifiers: [{ type: "dns", value: 7 }] }),
      order({ authorizations: ["not a url"] }),
      order({ authorizations: {} }),
      order({ finalize: undefined }),
      order({ status: "valid" }),
      order({ expires: "tomorrow" }),
    ]) {
      ca.on("/order/1", { body: wrong });
      await expect(readOrder(client, account, at("/order/1")), JSON.stringify(wrong)).rejects.toMatchObject({
        reason: "bad-answer",
      });
    }
  });

  test("for other names than were asked for is not used", async () => {
    const headers = { Location: at("/order/1") };
    ca.on("/newOrder", { status: 201, headers, body: order() });
    await expect(createOrder(client, account, { names: ["a.test"] })).rejects.toThrow(/other names/);
    expect((await createOrder(client, account, { names })).url).toBe(at("/order/1"));
  });

  test("names the certificate that it replaces, and goes without when the CA does not take that", async () => {
    const headers = { Location: at("/order/1") };
    const refusal = { status: 409, body: ca.problem("alreadyReplaced", "no") };
    ca.on("/newOrder", ({ payload }) =>
      "replaces" in (payload as object) ? refusal : { status: 201, headers, body: order() },
    );
    expect((await createOrder(client, account, { names, replaces: "a.b" })).status).toBe("pending");
    ca.on("/newOrder", { status: 400, body: ca.problem("rejectedIdentifier", "no") });
    const before = ca.asked.length;
    await expect(createOrder(client, account, { names, replaces: "a.b" })).rejects.toMatchObject({
      problem: { type: "rejectedIdentifier" },
    });
    expect(ca.asked.length).toBe(before + 1);
    expect(ca.asked.at(-1)?.payload).toMatchObject({ replaces: "a.b" });
  });

  test("that is not ready is given no request", async () => {
    const { csrDer } = makeCertificateRequest(names);
    for (const status of ["pending", "processing", "invalid"]) {
      ca.on("/order/1", { body: order({ status }) });
      expect((await finalizeOrder(client, account, at("/order/1"), csrDer)).status).toBe(status);
    }
    expect(ca.asked.map(({ path }) => path)).not.toContain("/finalize/1");
  });

  test("whose request a lost call has handed in is looked at again", async () => {
    const { csrDer } = makeCertificateRequest(names);
    const states = ["ready", "valid"];
    ca.on("/order/1", () => ({ body: order({ status: states.shift(), certificate: at("/certificate/1") }) }));
    ca.on("/finalize/1", { status: 403, body: ca.problem("orderNotReady", "it is valid") });
    expect(await finalizeOrder(client, account, at("/order/1"), csrDer)).toMatchObject({
      status: "valid",
      certificateUrl: at("/certificate/1"),
    });
    ca.on("/finalize/1", { status: 400, body: ca.problem("badCSR", "weak key") });
    for (const after of ["ready", "invalid"]) {
      states.push("ready", after);
      await expect(finalizeOrder(client, account, at("/order/1"), csrDer)).rejects.toMatchObject({
        problem: { type: "badCSR" },
      });
    }
  });
});

describe("An authorization", () => {
  test("is answered once, and then only looked at", async () => {
    ca.on("/authorization/1", { body: authorization() });
    ca.on("/challenge/1", { body: {} });
    await answerChallenge(client, account, at("/authorization/1"), "dns-01");
    expect(ca.asked.filter(({ path }) => path === "/challenge/1")).toMatchObject([{ payload: {} }]);
    const [challenge] = authorization().challenges;
    ca.on("/authorization/1", {
      body: authorization({ challenges: [{ ...challenge, status: "processing" }] }),
    });
    expect(await answerChallenge(client, account, at("/authorization/1"), "dns-01")).toMatchObject({
      lookAgainAt: later(3),
    });
    ca.on("/authorization/1", { body: authorization({ status: "valid" }) });
    await answerChallenge(client, account, at("/authorization/1"), "dns-01");
    expect(ca.asked.filter(({ path }) => path === "/challenge/1")).toHaveLength(1);
  });

  test("that a lost call has answered is looked at again, and another refusal is one", async () => {
    const [challenge] = authorization().challenges;
    const states = ["pending", "valid"];
    ca.on("/authorization/1", () => ({
      body: authorization({ challenges: [{ ...challenge, status: states.shift() }] }),
    }));
    ca.on("/challenge/1", { status: 400, body: ca.problem("malformed", "it is valid") });
    const after = await answerChallenge(client, account, at("/authorization/1"), "dns-01");
    expect(after.challenges).toMatchObject([{ status: "valid" }]);
    states.push("pending", "pending");
    await expect(answerChallenge(client, account, at("/authorization/1"), "dns-01")).rejects.toMatchObject({
      problem: { type: "malformed" },
    });
  });

  test("without a challenge of the wanted type says so", async () => {
    ca.on("/authorization/1", { body: authorization() });
    await expect(answerChallenge(client, account, at("/authorization/1"), "http-01")).rejects.toMatchObject({
      problem: { type: "challengeNotOffered", detail: expect.stringContaining("http-01 for a.test") },
    });
  });

  test.each(["a/b", "a\nb", "", "ü", "a".repeat(129), 7])(
    "with the token %j is not used: it would be in a path and in a record",
    async (token) => {
      ca.on("/authorization/1", {
        body: authorization({
          challenges: [{ type: "http-01", url: at("/challenge/1"), status: "pending", token }],
        }),
      });
      await expect(readAuthorization(client, account, at("/authorization/1"))).rejects.toMatchObject({
        reason: "bad-answer",
      });
    },
  );
});

describe("A certificate that a CA sends", () => {
  test("is taken when it is for the request, and in no other case", async () => {
    const { csrDer, privateKeyPem } = makeCertificateRequest(names);
    const keys = importKeys(privateKeyPem.toString(), "P-256");
    const san = names.map((value) => ({ type: "dns" as const, value }));
    const { leaf, intermediate, root } = await makeChain({ keys, names: san });
    const download = (body: string) => {
      ca.on("/certificate/1", { body, headers: { "Content-Type": "application/pem-certificate-chain" } });
      return downloadCertificate(client, account, at("/certificate/1"), csrDer);
    };
    expect(await download(leaf.pem + intermediate.pem)).toMatchObject({
      names,
      chainPem: leaf.pem + intermediate.pem,
    });
    const issue = (wish: object) => makeCertificate({ keys, names: san, issuer: intermediate, ...wish });
    // What cannot be read may be read the next time; what is another one than was asked for stays so.
    const unreadable: readonly (readonly [string, RegExp])[] = [
      ["", /not PEM/],
      [intermediate.pem.repeat(11), /11 certificates/],
      ["x".repeat(70_000), /larger than 65536 bytes/],
      [`${leaf.pem}${leaf.keyPem}`, /private key/],
    ];
    const others: readonly (readonly [string, RegExp])[] = [
      [intermediate.pem + leaf.pem, /certificate of a CA/],
      [leaf.pem + root.pem, /does not belong together/],
      [(await makeChain({ names: san })).leaf.pem, /for another key/],
      [(await issue({ names: san.slice(1) })).pem, /for other names/],
      [(await issue({ names: [...san, { type: "dns", value: "c.test" }] })).pem, /for other names/],
      [(await issue({ notAfter: NOW })).pem, /expired/],
    ];
    for (const [body, text] of [...unreadable, ...others])
      await expect(download(body), String(text)).rejects.toMatchObject({
        reason: "bad-answer",
        message: expect.stringMatching(text),
        name: others.some(([other]) => other === body) ? "AcmeUnusable" : "AcmeUnavailable",
      });
  });

  test("cannot be revoked at a CA that revokes nothing", async () => {
    const { leaf } = await makeChain();
    const { newNonce, newAccount, newOrder } = await client.directory();
    ca.on("/revokeCert", { status: 400, body: ca.problem("alreadyRevoked", "it is") });
    await revokeCertificate(client, account, leaf.pem, "keyCompromise");
    expect(ca.asked.at(-1)?.payload).toMatchObject({ reason: 1 });
    ca.on("/dir", { body: { newNonce, newAccount, newOrder } });
    const other = openAcmeClient({ directoryUrl: ca.directoryUrl, network: "any", allowHttp: true });
    await expect(revokeCertificate(other, account, leaf.pem, "superseded")).rejects.toMatchObject({
      problem: { type: "unsupported" },
    });
    other.close();
  });
});
