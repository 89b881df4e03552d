import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readDnsFile, readDnsProvider } from "@kule/region-config/dns-file";
import { afterAll, beforeAll, expect, test } from "vitest";
import { controlPlaneDnsEnv, shownDns, writeDnsFile } from "./lab-dns.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-quickstart-dns-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const description = { address: "127.0.0.1:5300", internet: "127.0.0.2" };
const access = {
  dnsPort: 5300,
  apiPort: 20_001,
  apiKey: "swordfish",
  registrarPort: 20_002,
  registrarKey: "anchovy",
};

test("the DNS file is one that an operator could have written, and holds no key", () => {
  const path = join(folder, "dns.yaml");
  writeDnsFile(path, description, access);
  expect(readDnsFile(path)).toMatchObject({
    nameServers: [
      { pattern: "*.ns1.lab.test", addresses: ["127.0.0.1"], port: 5300 },
      { pattern: "*.ns2.lab.test", addresses: ["127.0.0.1"], port: 5300 },
    ],
    resolving: { start: { kind: "roots", addresses: ["127.0.0.2"] }, port: 5300, allowPrivate: true },
    reverseZones: ["192.0.2.0/24", "203.0.113.0/24", "2001:db8:198::/64"],
  });
  const { api, worker } = controlPlaneDnsEnv(path, access);
  expect(readDnsProvider(path, worker)).toMatchObject({ url: "http://127.0.0.1:20001" });
  expect(readDnsProvider(path, api)).toMatch(/KULE_DNS_API_KEY is not set/);
});

test("the registrar is the API of the zone test", () => {
  expect(shownDns(description, access)).toEqual({
    dns_server: "127.0.0.1:5300",
    registrar_url: "http://127.0.0.2:20002/api/v1/servers/localhost/zones/test.",
    registrar_key: "anchovy",
  });
});
