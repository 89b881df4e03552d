import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SettingsError } from "./settings.ts";
import { signInProviders } from "./sign-in-providers.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-quickstart-oidc-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function written(text: string): string {
  const path = join(folder, "oidc.yaml");
  writeFileSync(path, text);
  return path;
}
const provider = (id: string, secret: string) => `
  - { id: ${id}, label: "${id} ID", issuer: "http://127.0.0.1:4/${id}", client_id: kule, ${secret} }`;

test("without a file there are none, and nothing of the environment is passed on", () => {
  expect(signInProviders(undefined, { ACME_SECRET: "swordfish" })).toEqual({ env: {}, providers: [] });
});

test("the API gets the file and the secrets that it names, and no other variable", () => {
  writeFileSync(join(folder, "other.secret"), "marlin", { mode: 0o600 });
  const path = written(
    `providers:${provider("acme", "client_secret_env: ACME_SECRET")}${provider("other", "client_secret_file: other.secret")}`,
  );
  const { env, providers } = signInProviders(path, { ACME_SECRET: "swordfish", AWS_SECRET: "none of ours" });
  expect(env).toEqual({ KULE_OIDC_FILE: path, ACME_SECRET: "swordfish" });
  expect(providers).toMatchObject([
    { id: "acme", label: "acme ID" },
    { id: "other", label: "other ID" },
  ]);
});

test("a file that is wrong ends the start with its name, line and a fix", () => {
  const read = (text: string) => () => signInProviders(written(text), {});
  expect(read("providers: []")).toThrow(SettingsError);
  expect(read("providers: []")).toThrow(
    /KULE_OIDC_FILE: .*oidc\.yaml:1:12: providers: is empty\n {4}fix: write one/s,
  );
  expect(read(`providers:${provider("acme", "client_secret_env: ACME_SECRET")}`)).toThrow(
    /oidc\.yaml:2:\d+: providers\[0\]\.client_secret_env: the environment variable ACME_SECRET is not set\n {4}fix: set ACME_SECRET/,
  );
  expect(() => signInProviders("/nowhere/oidc.yaml", {})).toThrow(/there is no file \/nowhere\/oidc\.yaml/);
});
