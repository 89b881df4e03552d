import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOidcFile } from "./oidc-file.ts";
import { BadSettings, readSettings } from "./settings.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-oidc-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const whole = `providers:
  - id: acme
    label: Acme ID
    issuer: https://id.acme.example
    client_id: kule
    client_secret_env: ACME_SECRET
    email_domains: [acme.example]
    sign_up: { organisation: acme, role: viewer }
    second_factor: { amr: [mfa] }
`;

function read(text: string, environment: Record<string, string> = { ACME_SECRET: "swordfish" }) {
  const path = join(folder, "oidc.yaml");
  writeFileSync(path, text);
  return readOidcFile(path, environment);
}
const change = (from: string, to: string) => {
  expect(whole).toContain(from);
  return whole.replace(from, to);
};

describe("the file of the providers", () => {
  test("says who they are; the secret is shown to nobody who prints it", () => {
    const [acme] = read(whole);
    expect(acme).toMatchObject({
      id: "acme",
      label: "Acme ID",
      issuer: "https://id.acme.example",
      clientId: "kule",
      emailDomains: ["acme.example"],
      signUp: { organisation: "acme", role: "viewer" },
      secondFactor: { acr: [], amr: ["mfa"] },
    });
    expect(inspect(acme) + JSON.stringify(acme)).not.toContain("swordfish");
  });

  test("is explained by an example that is right", () => {
    const example = join(import.meta.dirname, "../../../../docs/oidc.example.yaml");
    expect(readOidcFile(example, { KULE_OIDC_ACME_SECRET: "swordfish" })).toMatchObject([
      { id: "acme", signUp: { organisation: "acme", role: "viewer" } },
    ]);
  });

  test("takes the secret from a file that others may not read", () => {
    const secret = join(folder, "acme.secret");
    writeFileSync(secret, "swordfish\n", { mode: 0o600 });
    const text = change("client_secret_env: ACME_SECRET", "client_secret_file: acme.secret");
    const [acme] = read(text);
    expect(typeof acme === "object" && acme.clientSecret.reveal()).toBe("swordfish");
    chmodSync(secret, 0o644);
    expect(read(text)).toMatch(/oidc\.yaml:6:5: providers\.0\.client_secret_file: every account/);
  });

  test.each([
    ["    label: Acme ID\n", "", "2:5", "label: is missing"],
    ["label: Acme ID", "lable: Acme ID", "3:5", "lable: is not a key"],
    ["https://id.acme.example", "http://id.acme.example", "4:5", "unencrypted"],
    ["https://id.acme.example", "id.acme.example", "4:5", "issuer: is not written"],
    ["https://id.acme.example", "https://id.acme.example?x=1", "4:5", "is no issuer"],
    ["client_secret_env: ACME_SECRET", "client_secret: swordfish", "6:5", "client_secret: is not a key"],
    ["client_secret_env: ACME_SECRET", "client_secret_env: OTHER", "6:5", "OTHER is not set"],
    ["    email_domains: [acme.example]\n", "", "7:5", "would let everybody in"],
    ["[acme.example]", "[]", "7:5", "must be a list"],
    ["[acme.example]", "['*']", "7:5", "must be a list"],
    ["role: viewer", "role: admin", "8:36", "must be billing or viewer or member"],
    ["{ amr: [mfa] }", "{}", "9:5", "names neither"],
    ["id: acme", "id: Acme ID", "2:5", "id: is not written"],
    ["providers:", "provider:", "1:1", "provider: is not a key"],
  ])("%s as %s is refused with its place", (from, to, place, text) => {
    const problems = read(change(from, to));
    expect(problems).toMatch(new RegExp(`oidc\\.yaml:${place}: `));
    expect(problems).toContain(text);
    expect(problems).not.toContain("swordfish");
  });

  test("names each provider once", () => {
    const twice = whole + whole.replace("providers:\n", "");
    expect(read(twice)).toContain("is another provider's already");
  });
});

test("a wrong file, or one without a panel and a key, keeps the API from starting", () => {
  const path = join(folder, "wrong.yaml");
  writeFileSync(path, "providers: []");
  const start = () => readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_OIDC_FILE: path });
  expect(start).toThrow(BadSettings);
  for (const text of [/KULE_CONSOLE_ORIGINS/, /KULE_API_SECRET/, /must be a list of providers/])
    expect(start).toThrow(text);
  expect(() => readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_OIDC_FILE: "/nowhere" })).toThrow(
    "there is no file /nowhere",
  );
});
