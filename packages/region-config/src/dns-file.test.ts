import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readDnsFile, readDnsProvider, secretVariablesOfDns } from "./dns-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-dns-file-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const whole = `provider:
  type: powerdns
  url: http://127.0.0.1:8081
  api_key_env: DNS_KEY
name_servers:
  - name: "*.ns1.example.net"
    addresses: [192.0.2.53]
  - name: ns2.example.net
    addresses: [198.51.100.53, "2001:db8::53"]
    port: 5353
resolving:
  roots: [127.0.0.1]
  port: 5300
  allow_private: true
reverse_zones: [192.0.2.0/24]
`;

function written(text: string): string {
  const path = join(folder, "dns.yaml");
  writeFileSync(path, text);
  return path;
}
const read = (text: string) => readDnsFile(written(text));
const change = (from: string, to: string) => {
  expect(whole).toContain(from);
  return whole.replace(from, to);
};

describe("the file of the installation's DNS", () => {
  test("has the name servers and how the Internet is asked; the provider's key is not needed for it", () => {
    expect(read(whole)).toEqual({
      nameServers: [
        { pattern: "*.ns1.example.net", addresses: ["192.0.2.53"], port: 53 },
        { pattern: "ns2.example.net", addresses: ["198.51.100.53", "2001:db8::53"], port: 5353 },
      ],
      resolving: { start: { kind: "roots", addresses: ["127.0.0.1"] }, port: 5300, allowPrivate: true },
      reverseZones: ["192.0.2.0/24"],
    });
  });

  test("has the provider for the worker; its key is never printed", () => {
    const access = readDnsProvider(written(whole), { DNS_KEY: "swordfish" });
    expect(access).toMatchObject({ url: "http://127.0.0.1:8081", serverId: "localhost" });
    expect(typeof access === "object" && access.apiKey.reveal()).toBe("swordfish");
    expect(inspect(access) + JSON.stringify(access)).not.toContain("swordfish");
    expect(readDnsProvider(written(whole), {})).toMatch(/dns\.yaml:4:16: .*DNS_KEY is not set/);
  });

  test("takes the key from a file that others may not read", () => {
    const secret = join(folder, "dns.key");
    writeFileSync(secret, "swordfish\n", { mode: 0o600 });
    const text = change("api_key_env: DNS_KEY", "api_key_file: dns.key");
    const access = readDnsProvider(written(text), {});
    expect(typeof access === "object" && access.apiKey.reveal()).toBe("swordfish");
    chmodSync(secret, 0o644);
    expect(readDnsProvider(written(text), {})).toContain("provider.api_key_file: every account");
  });

  test("asks from the root servers on, unless it says otherwise", () => {
    const text = whole.slice(0, whole.indexOf("resolving:"));
    const file = read(text);
    expect(file).toMatchObject({
      resolving: { start: { kind: "roots" }, port: 53, allowPrivate: false },
      reverseZones: [],
    });
    expect(typeof file === "object" && file.resolving.start.addresses).toHaveLength(13);
    expect(read(`${text}resolving:\n  resolvers: [192.0.2.1]\n`)).toMatchObject({
      resolving: { start: { kind: "resolvers", addresses: ["192.0.2.1"] } },
    });
  });

  test("is explained by an example that is right", () => {
    const example = join(import.meta.dirname, "../../../docs/dns.example.yaml");
    expect(readDnsFile(example)).toMatchObject({ nameServers: [{}, {}] });
    expect(readDnsProvider(example, { KULE_DNS_API_KEY: "swordfish" })).toMatchObject({
      serverId: "localhost",
    });
  });

  test.each([
    ["type: powerdns", "type: bind", "2:9", "must be powerdns\n    fix: write powerdns"],
    ["http://127.0.0.1:8081", "127.0.0.1:8081", "3:8", "write where PowerDNS' API listens"],
    ["http://127.0.0.1:8081", "http://ada:secret@127.0.0.1", "3:8", "without a user or a password"],
    ["  api_key_env: DNS_KEY\n", "", "2:3", "exactly one of api_key_env and api_key_file"],
    ['name: "*.ns1.example.net"', 'name: "ns*.example.net"', "6:11", "with a star for the domain's own part"],
    ["name: ns2.example.net", 'name: "*.ns1.example.net"', "8:11", "is another name server's already"],
    ["[192.0.2.53]", "[]", "7:16", "is empty\n    fix: write 1 to 4 addresses"],
    ["[192.0.2.53]", "[ns1]", "7:17", "is not an address"],
    ["port: 5353", "port: 0", "10:11", "must be >= 1"],
    ["roots: [127.0.0.1]", "roots: [localhost]", "12:11", "is not an address"],
    ["  port: 5300", "  resolvers: [192.0.2.1]", "13:14", "is a second place to begin"],
    ["[192.0.2.0/24]", "[192.0.2.0/25]", "15:17", "is not a block of addresses that has a reverse zone"],
    ["reverse_zones", "reverse_zone", "15:1", "did you mean reverse_zones?"],
  ])("%s as %s is refused with its place", (from, to, place, text) => {
    const problems = read(change(from, to));
    expect(problems).toMatch(new RegExp(`dns\\.yaml:${place}: `));
    expect(problems).toContain(text);
  });

  test("names the variables that hold its secrets", () => {
    expect(secretVariablesOfDns(written(whole))).toEqual(["DNS_KEY"]);
  });
});
