import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOidcFile, secretVariablesOf } from "./oidc-file.ts";

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
  test("has the providers' names; the secret is never printed", () => {
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
    const example = join(import.meta.dirname, "../../../docs/oidc.example.yaml");
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
    expect(read(text)).toMatch(/oidc\.yaml:6:25: providers\[0\]\.client_secret_file: every account/);
  });

  test.each([
    [
      "    label: Acme ID\n",
      "",
      "2:5",
      "the key label is missing\n    fix: add label: write what people call",
    ],
    [
      "label: Acme ID",
      "labels: Acme ID",
      "3:5",
      "labels: is not a key that is known here\n    fix: did you mean label?",
    ],
    ["https://id.acme.example", "http://id.acme.example", "4:13", "unencrypted"],
    ["https://id.acme.example", "id.acme.example", "4:13", "issuer: is not written"],
    ["https://id.acme.example", "https://id.acme.example?x=1", "4:13", "is no issuer"],
    [
      "client_secret_env: ACME_SECRET",
      "client_secret: swordfish",
      "6:5",
      "secrets are not written into this file\n    fix: put the secret into an environment variable and write client_secret_env:",
    ],
    ["client_secret_env: ACME_SECRET", "client_secret_env: OTHER", "6:24", "OTHER is not set"],
    [
      "    client_secret_env: ACME_SECRET\n",
      "",
      "2:5",
      "exactly one of client_secret_env and client_secret_file",
    ],
    ["client_id: kule", "client_secret_file: x\n    client_id: kule", "2:5", "both are there"],
    ["    email_domains: [acme.example]\n", "", "7:14", "would let everybody in"],
    ["[acme.example]", "[]", "7:20", "is empty"],
    ["[acme.example]", "['*']", "7:21", "is not written as it must be"],
    ["[acme.example]", "acme.example", "7:20", "must be a list, is a text"],
    ["role: viewer", "role: admin", "8:42", "must be billing or viewer or member"],
    [", role: viewer", "", "8:14", "the key role is missing"],
    ["{ organisation: acme, role: viewer }", "anybody", "8:14", "sign_up: is not written"],
    ["{ amr: [mfa] }", "{}", "9:20", "is empty"],
    ["{ amr: [mfa] }", "{ amr: [] }", "9:27", "is empty"],
    ["{ amr: [mfa] }", "{ amrs: [mfa] }", "9:22", "did you mean amr?"],
    ["id: acme", "id: Acme ID", "2:9", "id: is not written"],
    ["providers:", "provider:", "1:1", "provider: is not a key"],
    [
      "providers:",
      "providers: []\nmore:",
      "1:12",
      "is empty\n    fix: write one, or leave KULE_OIDC_FILE unset",
    ],
    ["    label: Acme ID", "    label: Acme ID\n    label: Acme", "4:5", "not valid YAML"],
  ])("%s as %s is refused with its place", (from, to, place, text) => {
    const problems = read(change(from, to));
    expect(problems).toMatch(new RegExp(`oidc\\.yaml:${place}: `));
    expect(problems).toContain(text);
    expect(problems).not.toContain("swordfish");
  });

  test("may be empty, or grow without end, and reports it", () => {
    expect(read("")).toContain("the file is empty\n    fix: start from docs/oidc.example.yaml");
    const aliases = Array.from(
      { length: 9 },
      (_, depth) => `a${depth + 1}: &a${depth + 1} [${`*a${depth}, `.repeat(9)}]`,
    );
    expect(read(`a0: &a0 [x]\n${aliases.join("\n")}`)).toContain("has too many aliases");
  });

  test("names the variables that hold its secrets", () => {
    read(whole);
    expect(secretVariablesOf(join(folder, "oidc.yaml"))).toEqual(["ACME_SECRET"]);
    read(change("client_secret_env: ACME_SECRET", "client_secret_file: acme.secret"));
    expect(secretVariablesOf(join(folder, "oidc.yaml"))).toEqual([]);
  });

  test("names each provider once", () => {
    const twice = whole + whole.replace("providers:\n", "");
    expect(read(twice)).toContain("is another provider's already");
  });
});
