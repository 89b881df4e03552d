import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { powerDnsProvider } from "@kule/dns/powerdns";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeCertificateRequest } from "../certificate-request.ts";
import {
  accountOf,
  answerStateless,
  type Issuing,
  orderOf,
  type Prove,
  stepsOf,
} from "../testing/issuing.ts";
import { type Pebble, probePebble, startPebble } from "../testing/pebble.ts";
import { findAccount, openAccount } from "./account.ts";
import { keyThumbprint, makeAccountKey } from "./account-key.ts";
import { type AcmeClient, openAcmeClient } from "./acme-client.ts";
import { AcmeRefused } from "./acme-error.ts";
import { answerChallenge, readAuthorization } from "./authorization.ts";
import { type ChallengeType, challengeRecord } from "./challenge-values.ts";
import { downloadCertificate, revokeCertificate } from "./issued-certificate.ts";
import { createOrder, finalizeOrder, readOrder } from "./order.ts";

const pebblePart = await requirePart("pebble", probePebble, import.meta.filename);
const ZONE = "example.test";
const API_KEY = "key-of-the-tests";
const key = makeAccountKey();
const thumbprint = keyThumbprint(key);

describe.skipIf(pebblePart.missing)("With a real CA", () => {
  let directory: string;
  let dns: DnsLab;
  let pebble: Pebble;
  let answers: { close(): Promise<void> };
  let client: AcmeClient;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "kule-acme-"));
    dns = await startDnsLab({ dataDir: directory, apiKey: API_KEY });
    const provider = powerDnsProvider({ url: dns.url, apiKey: API_KEY });
    await provider.createZone(ZONE, ["ns1.kule.test."]);
    await putRecords(
      "A",
      new Map([
        [`web.${ZONE}`, ["127.0.0.1"]],
        [ZONE, ["127.0.0.1"]],
      ]),
    );
    pebble = await startPebble({ dnsServer: `${dns.address}:${dns.dnsPort}` });
    answers = await answerStateless(pebble.httpPort, key);
    client = openClient();
  });
  afterAll(async () => {
    client?.close();
    await answers?.close();
    await pebble?.close();
    await dns?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const openClient = () =>
    openAcmeClient({
      directoryUrl: pebble.directoryUrl,
      network: "any",
      rootsPem: pebble.identity.certificatePem,
    });

  async function putRecords(type: string, records: ReadonlyMap<string, readonly string[]>): Promise<void> {
    await powerDnsProvider({ url: dns.url, apiKey: API_KEY }).changeZone(
      ZONE,
      [...records].map(([name, contents]) => ({
        change: "replace",
        recordSet: { name: `${name}.`, type, ttlSeconds: 1, contents },
      })),
    );
  }

  const proveByDns: Prove = async (authorizations) => {
    const values = new Map<string, string[]>();
    for (const { name, challenges } of authorizations) {
      const token = challenges.find(({ type }) => type === "dns-01")?.token ?? "";
      const record = challengeRecord(name, token, thumbprint);
      values.set(record.name, [...(values.get(record.name) ?? []), `"${record.value}"`]);
    }
    await putRecords("TXT", values);
  };

  async function issue(names: readonly string[], type: ChallengeType): Promise<Issuing> {
    const kept: Issuing = { names, type, csrDer: makeCertificateRequest(names).csrDer };
    for (const [, step] of stepsOf(type === "dns-01" ? proveByDns : async () => {}))
      await step(client, key, kept);
    return kept;
  }

  test("an apex, its wildcard and a name are proven by DNS and the certificate is for the request's key", async () => {
    const names = [ZONE, `*.${ZONE}`, `web.${ZONE}`];
    const { facts, csrDer } = await issue(names, "dns-01");
    expect(facts?.names.toSorted()).toEqual(names.toSorted());
    expect(facts?.keyType).toBe("ecdsa-p256");
    expect(facts?.chainPem.match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThan(1);
    const { publicKey } = new X509Certificate(facts?.chainPem ?? "");
    expect(csrDer.includes(publicKey.export({ type: "spki", format: "der" }))).toBe(true);
  });

  test("names are proven over HTTP by an answer that knows no order", async () => {
    const { facts } = await issue([`web.${ZONE}`, ZONE], "http-01");
    expect(facts?.names.toSorted()).toEqual([ZONE, `web.${ZONE}`]);
  });

  test("every step may be repeated", async () => {
    const names = [`again.${ZONE}`];
    const kept: Issuing = { names, type: "dns-01", csrDer: makeCertificateRequest(names).csrDer };
    for (const [, step] of stepsOf(proveByDns)) {
      await step(client, key, kept);
      // Of the order this makes a second one, as a crash before the first was noted does.
      await step(client, key, kept);
    }
    expect(kept.facts?.names).toEqual(names);
    const first = kept.facts;
    for (const [name, step] of stepsOf(proveByDns)) if (name !== "order") await step(client, key, kept);
    expect(kept.facts).toEqual(first);
  });

  test("a wrong TXT record makes the order invalid, with the CA's reason at the name's challenge", async () => {
    const account = await openAccount(client, key, { contactEmails: [], agreesToTerms: true });
    const order = await createOrder(client, account, { names: [`wrong.${ZONE}`] });
    const [url = ""] = order.authorizationUrls;
    await putRecords("TXT", new Map([[`_acme-challenge.wrong.${ZONE}`, ['"not the value"']]]));
    expect((await answerChallenge(client, account, url, "dns-01")).lookAgainAt).not.toBeUndefined();
    await expect.poll(async () => (await readAuthorization(client, account, url)).status).toBe("invalid");
    const authorization = await readAuthorization(client, account, url);
    expect(authorization.lookAgainAt).toBeNull();
    expect(authorization.challenges.find(({ type }) => type === "dns-01")).toMatchObject({
      status: "invalid",
      problem: { type: "unauthorized", detail: expect.stringContaining("Correct value not found") },
    });
    expect(await readOrder(client, account, order.url)).toMatchObject({
      status: "invalid",
      lookAgainAt: null,
    });
    // Handing in the request changes nothing about it.
    const { csrDer } = makeCertificateRequest([`wrong.${ZONE}`]);
    expect((await finalizeOrder(client, account, order.url, csrDer)).status).toBe("invalid");
  });

  test("a request for other names than the order's is refused by the CA, and so is a name that it does not serve", async () => {
    const names = [`csr.${ZONE}`];
    const kept: Issuing = { names, type: "dns-01", csrDer: makeCertificateRequest([`other.${ZONE}`]).csrDer };
    const steps = new Map(stepsOf(proveByDns));
    for (const name of ["account", "order", "answer", "proven"]) await steps.get(name)?.(client, key, kept);
    await expect(steps.get("finalize")?.(client, key, kept)).rejects.toThrow(AcmeRefused);
    await expect(createOrder(client, accountOf(kept), { names: ["192.0.2.1"] })).rejects.toMatchObject({
      problem: { type: expect.stringMatching(/malformed|rejectedIdentifier/) },
    });
  });

  test("a certificate is revoked, once and again, and one that is for another key is not taken", async () => {
    const kept = await issue([`web.${ZONE}`], "http-01");
    const chainPem = kept.facts?.chainPem ?? "";
    const other = makeCertificateRequest([`web.${ZONE}`]).csrDer;
    const url = orderOf(kept).certificateUrl ?? "";
    await expect(downloadCertificate(client, accountOf(kept), url, other)).rejects.toThrow(/for another key/);
    await revokeCertificate(client, accountOf(kept), chainPem, "superseded");
    await revokeCertificate(client, accountOf(kept), chainPem, "superseded");
  });

  test("an account is found by its key alone, and one that was never made is not", async () => {
    const made = await openAccount(client, key, { contactEmails: ["ops@example.test"], agreesToTerms: true });
    expect((await findAccount(client, key))?.accountUrl).toBe(made.accountUrl);
    expect(await findAccount(client, makeAccountKey())).toBeNull();
    await expect(
      openAccount(client, makeAccountKey(), { contactEmails: [], agreesToTerms: false }),
    ).rejects.toThrow(AcmeRefused);
  });

  test("a CA that forgot everything before any step says so, and the way begun again ends with a certificate", async () => {
    const names = [`web.${ZONE}`];
    const steps = stepsOf(async () => {});
    const interrupted: { kept: Issuing; rest: () => Promise<void>; next: string }[] = [];
    for (let done = 1; done < steps.length; done += 1) {
      const kept: Issuing = { names, type: "http-01", csrDer: makeCertificateRequest(names).csrDer };
      for (const [, step] of steps.slice(0, done)) await step(client, key, kept);
      const rest = async () => {
        for (const [, step] of steps.slice(done)) await step(client, key, kept);
      };
      interrupted.push({ kept, rest, next: steps[done]?.[0] ?? "" });
    }
    await pebble.restart();
    for (const { rest, next } of interrupted)
      await expect(rest(), next).rejects.toMatchObject({ name: "AcmeGone", what: "account" });
    // The account alone does not bring an order back.
    const account = await openAccount(client, key, { contactEmails: [], agreesToTerms: true });
    for (const { kept, rest, next } of interrupted) {
      kept.account = account;
      if (next === "order") await rest();
      else
        await expect(rest(), next).rejects.toMatchObject({
          name: "AcmeGone",
          what: expect.stringMatching(/^(order|authorization|certificate)$/),
        });
    }
    expect(interrupted[0]?.kept.facts?.names).toEqual(names);
  });
});
