import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dnsInstallation } from "./dns-installation.ts";
import { BadSettings, readSettings } from "./settings.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-dns-settings-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const text = `provider: { type: powerdns, url: "http://127.0.0.1:8081", api_key_env: DNS_KEY }
name_servers: [{ name: "*.ns1.example.net", addresses: [192.0.2.53] }]
`;

function start(file: string) {
  const path = join(folder, "dns.yaml");
  writeFileSync(path, file);
  return readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_DNS_FILE: path });
}

test("an API without a DNS file serves no domains; with one it needs no key of the provider", () => {
  expect(readSettings({ KULE_DATABASE_URL: "postgres://x" }).dns).toBeNull();
  const { dns } = start(text);
  if (dns === null) throw new Error("no DNS");
  const installation = dnsInstallation(dns.file);
  expect(installation.nameServers).toEqual([
    { pattern: "*.ns1.example.net", addresses: ["192.0.2.53"], port: 53 },
  ]);
  // Addresses that are not of the Internet are asked only where the file says so.
  expect(installation.resolving.mayAsk).toBeUndefined();
  const privately = start(`${text}resolving: { allow_private: true }\n`).dns;
  expect(privately && dnsInstallation(privately.file).resolving.mayAsk?.("10.0.0.1")).toBe(true);
});

test("a wrong file prevents the API's start", () => {
  expect(() => start("provider: {}")).toThrow(BadSettings);
  expect(() => start("provider: {}")).toThrow(/dns\.yaml:1:1.*name_servers is missing/);
  expect(() => start(`${text}reverse_zones: [192.0.2.1/24]\n`)).toThrow(/reverse_zones/);
});
