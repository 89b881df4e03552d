import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAcmeExternalAccount, readAcmeFile, secretVariablesOfAcme } from "./acme-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-acme-file-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const whole = `directory: https://ca.example/acme/directory
agrees_to_terms: true
contact_emails: [ops@example.com]
external_account:
  key_id: kid-1
  hmac_key_env: ACME_HMAC
network: any
ca_file: ca.pem
`;
const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

function written(text: string): string {
  const path = join(folder, "acme.yaml");
  writeFileSync(path, text);
  writeFileSync(join(folder, "ca.pem"), pem);
  return path;
}
const read = (text: string) => readAcmeFile(written(text));
const change = (from: string, to: string) => {
  expect(whole).toContain(from);
  return whole.replace(from, to);
};

describe("the file of the installation's CA", () => {
  test("has the CA for every process, without the secret", () => {
    expect(read(whole)).toEqual({
      directoryUrl: "https://ca.example/acme/directory",
      contactEmails: ["ops@example.com"],
      network: "any",
      rootsPem: pem,
    });
    expect(read("directory: https://ca.example/dir\nagrees_to_terms: true\n")).toEqual({
      directoryUrl: "https://ca.example/dir",
      contactEmails: [],
      network: "public",
      rootsPem: null,
    });
  });

  test("has the account at the CA for the worker; its key is never printed", () => {
    const account = readAcmeExternalAccount(written(whole), { ACME_HMAC: "swordfish" });
    if (account === null || typeof account === "string") throw new Error(`${account}`);
    expect(account.keyId).toBe("kid-1");
    expect(account.hmacKey.reveal()).toBe("swordfish");
    expect(inspect(account) + JSON.stringify(account)).not.toContain("swordfish");
    expect(secretVariablesOfAcme(written(whole))).toEqual(["ACME_HMAC"]);
    expect(readAcmeExternalAccount(written(whole), {})).toMatch(/acme\.yaml:6:17: .*ACME_HMAC is not set/);
    expect(
      readAcmeExternalAccount(written("directory: https://a.b/c\nagrees_to_terms: true\n"), {}),
    ).toBeNull();
  });

  test.each([
    [change("https://ca.example", "http://ca.example"), /acme\.yaml:1:\d+: .*directory/],
    [change("agrees_to_terms: true", "agrees_to_terms: false"), /terms of service/],
    [change("ops@example.com", "nobody"), /mail address/],
    [change("  hmac_key_env: ACME_HMAC\n", ""), /external_account/],
    [change("ca.pem", "missing.pem"), /missing\.pem/],
    [change("network: any", "network: none"), /network/],
    ["directory: 7\n", /agrees_to_terms/],
  ])("says where it is wrong", (text, finding) => {
    expect(read(text)).toMatch(finding);
  });
});
