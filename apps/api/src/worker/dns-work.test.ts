import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dnsInstallation } from "../platform/dns-installation.ts";
import { BadSettings, readSettings } from "../platform/settings.ts";
import { dnsWork, openDnsProvider } from "./dns-work.ts";

const apiKey = "key-of-the-tests";
let folder = "";
let path = "";
let lab: DnsLab;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-dns-work-"));
  lab = await startDnsLab({ dataDir: join(folder, "zones"), apiKey });
  path = join(folder, "dns.yaml");
  writeFileSync(
    path,
    `provider: { type: powerdns, url: "${lab.url}", api_key_env: DNS_KEY }
name_servers: [{ name: "*.ns1.kule.test", addresses: [${lab.address}], port: ${lab.dnsPort} }]
`,
  );
});
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
});

function workWith(environment: Readonly<Record<string, string>>) {
  const { dns } = readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_DNS_FILE: path });
  if (dns === null) throw new Error("no DNS");
  return dnsWork(openDnsProvider(dns.path, environment), dnsInstallation(dns.file));
}

test("a worker with a DNS file applies domains at the provider that it names, and waits for its name servers", async () => {
  const { kinds, run } = workWith({ DNS_KEY: apiKey });
  expect(kinds).toEqual(["DomainApply"]);
  const steps: string[] = [];
  const observed = await run(
    {
      id: "job_1",
      payload: {
        kind: "DomainApply",
        generation: 1,
        state: "present",
        zone: {
          name: "example.test",
          name_servers: ["k1.ns1.kule.test."],
          name_server_ttl: 3600,
          dnssec: false,
          record_sets: [{ name: "www", type: "A", ttl: 300, values: ["192.0.2.1"] }],
        },
      },
    },
    {
      report: async ({ name }) => {
        steps.push(name);
      },
      lease: { remainingFraction: () => 1 },
    },
  );
  expect(observed.domain).toMatchObject({ generation: 1, serial: expect.any(Number), ds: [] });
  expect(steps).toContain("await-answers");
});

test("a worker without the provider's key does not start, and says which variable is missing", () => {
  expect(() => workWith({})).toThrow(BadSettings);
  expect(() => workWith({})).toThrow("DNS_KEY is not set");
});
