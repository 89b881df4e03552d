import { randomBytes } from "node:crypto";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Pebble, probePebble, startPebble } from "../testing/pebble.ts";
import { openAccount } from "./account.ts";
import { makeAccountKey } from "./account-key.ts";
import { type AcmeClient, openAcmeClient } from "./acme-client.ts";

const pebblePart = await requirePart("pebble", probePebble, import.meta.filename);
const hmacKey = randomBytes(32).toString("base64url");
const settings = { contactEmails: [], agreesToTerms: true };

describe.skipIf(pebblePart.missing)("A CA that takes its own customers only", () => {
  let pebble: Pebble;
  let client: AcmeClient;
  beforeAll(async () => {
    pebble = await startPebble({ externalAccounts: { customer1: hmacKey } });
    client = openAcmeClient({
      directoryUrl: pebble.directoryUrl,
      network: "any",
      rootsPem: pebble.identity.certificatePem,
    });
  });
  afterAll(async () => {
    client?.close();
    await pebble?.close();
  });

  test("says so in its directory, and gives an account to who has its key", async () => {
    expect((await client.directory()).externalAccountRequired).toBe(true);
    const key = makeAccountKey();
    const external = { keyId: "customer1", hmacKey };
    const made = await openAccount(client, key, { ...settings, external });
    expect((await openAccount(client, key, { ...settings, external })).accountUrl).toBe(made.accountUrl);
  });

  test("refuses others with its reason", async () => {
    await expect(openAccount(client, makeAccountKey(), settings)).rejects.toMatchObject({
      problem: { type: "externalAccountRequired" },
    });
    const external = { keyId: "customer1", hmacKey: randomBytes(32).toString("base64url") };
    await expect(openAccount(client, makeAccountKey(), { ...settings, external })).rejects.toMatchObject({
      name: "AcmeRefused",
    });
    await expect(
      openAccount(client, makeAccountKey(), {
        ...settings,
        external: { keyId: "customer1", hmacKey: "short" },
      }),
    ).rejects.toThrow(RangeError);
  });
});
