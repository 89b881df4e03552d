import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, NOW } from "../testing/made-certificates.ts";
import { type ScriptedCa, startScriptedCa } from "../testing/scripted-ca.ts";
import { type AcmeClient, openAcmeClient } from "./acme-client.ts";
import { readRenewalInfo, renewalIdentifier, renewalTime } from "./renewal-info.ts";

/** The example of RFC 9773 4.1: the serial number has a set first bit, so its DER begins with a zero. */
const EXAMPLE = {
  serialNumber: "0087654321",
  authorityKeyId: "69885b6b87464041e1b37b847ba0ae2cde01c8d4",
  identifier: "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE",
};
const window = { start: "2026-07-01T00:00:00Z", end: "2026-07-03T00:00:00Z" };

let ca: ScriptedCa;
let client: AcmeClient;
beforeEach(async () => {
  ca = await startScriptedCa();
  client = openAcmeClient({ directoryUrl: ca.directoryUrl, network: "any", allowHttp: true, now: () => NOW });
});
afterEach(async () => {
  client.close();
  await ca.close();
});

describe("A CA's wish when to renew", () => {
  test("is asked for by the issuer's key and the serial number, as in the RFC's example", async () => {
    const { pem } = await makeCertificate(EXAMPLE);
    expect(renewalIdentifier(pem)).toBe(EXAMPLE.identifier);
    const small = await makeCertificate({ ...EXAMPLE, serialNumber: "01ff" });
    expect(renewalIdentifier(small.pem)).toBe("aYhba4dGQEHhs3uEe6CuLN4ByNQ.Af8");
    expect(renewalIdentifier((await makeCertificate()).pem)).toBeNull();
  });

  test("is read with its window, its reason and when to ask again", async () => {
    const { pem } = await makeCertificate(EXAMPLE);
    const path = `/renewalInfo/${EXAMPLE.identifier}`;
    const info = { suggestedWindow: window, explanationURL: "https://ca.test/why" };
    ca.on(path, { body: info, headers: { "Retry-After": "21600" } });
    expect(await readRenewalInfo(client, pem)).toEqual({
      windowStart: new Date(window.start),
      windowEnd: new Date(window.end),
      explanationUrl: "https://ca.test/why",
      lookAgainAt: new Date(NOW.getTime() + 21_600_000),
    });
    for (const [header, seconds] of [
      ["1", 60],
      ["9999999", 86_400],
      ["never", 21_600],
    ] as const) {
      ca.on(path, { body: info, headers: { "Retry-After": header } });
      expect((await readRenewalInfo(client, pem))?.lookAgainAt, header).toEqual(
        new Date(NOW.getTime() + seconds * 1_000),
      );
    }
  });

  test("that makes no sense is not used", async () => {
    const { pem } = await makeCertificate(EXAMPLE);
    for (const suggestedWindow of [
      undefined,
      {},
      { start: window.start },
      { start: window.end, end: window.start },
      { start: window.start, end: window.start },
      { start: "x", end: window.end },
    ]) {
      ca.on(`/renewalInfo/${EXAMPLE.identifier}`, { body: { suggestedWindow } });
      await expect(readRenewalInfo(client, pem), JSON.stringify(suggestedWindow)).rejects.toMatchObject({
        reason: "bad-answer",
      });
    }
  });

  test("is not asked for where the CA has none, or the certificate does not name its issuer's key", async () => {
    const { pem } = await makeCertificate();
    expect(await readRenewalInfo(client, pem)).toBeNull();
    const { newNonce, newAccount, newOrder } = await client.directory();
    ca.on("/dir", { body: { newNonce, newAccount, newOrder } });
    const other = openAcmeClient({ directoryUrl: ca.directoryUrl, network: "any", allowHttp: true });
    expect(await readRenewalInfo(other, (await makeCertificate(EXAMPLE)).pem)).toBeNull();
    other.close();
  });

  test("leaves the moment in the window to chance", () => {
    const info = { windowStart: new Date(window.start), windowEnd: new Date(window.end) };
    expect(renewalTime(info, 0)).toEqual(info.windowStart);
    expect(renewalTime(info, 0.5)).toEqual(new Date("2026-07-02T00:00:00Z"));
    expect(renewalTime(info, 1)).toEqual(info.windowEnd);
  });
});
