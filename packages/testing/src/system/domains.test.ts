import { Resolver } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiClient, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { probePowerDns } from "@kule/lab/dns/powerdns-daemon";
import { labReverseZones } from "@kule/quickstart/public-addresses";
import type { StringAnswer } from "dns-packet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askNameServer } from "../ask-name-server.ts";
import { requirePart } from "../parts.ts";
import { QuickstartHome } from "../quickstart-home.ts";

const powerDns = await requirePart("PowerDNS", probePowerDns, import.meta.filename);

const hash = "ab".repeat(32);
const key = `v=DKIM1; p=${"k".repeat(400)}`;

type Written = {
  readonly name: string;
  readonly type: Schemas["RecordType"];
  /** As a person writes them. */
  readonly values: readonly string[];
  /** As node:dns reads them; null for the type that it cannot ask for. */
  readonly answer: unknown;
};

/** At least one record set of each type, and names and values that are easily changed on the way. */
const written: readonly Written[] = [
  { name: "www", type: "A", values: ["192.0.2.10", "192.0.2.11"], answer: ["192.0.2.10", "192.0.2.11"] },
  { name: "www", type: "AAAA", values: ["2001:DB8:0::10"], answer: ["2001:db8::10"] },
  { name: "blog", type: "CNAME", values: ["www.every.test"], answer: ["www.every.test"] },
  {
    name: "@",
    type: "MX",
    values: ["10 mail.every.test", "20 mail.other.example."],
    answer: [
      { type: "MX", priority: 10, exchange: "mail.every.test" },
      { type: "MX", priority: 20, exchange: "mail.other.example" },
    ],
  },
  {
    name: "@",
    type: "TXT",
    values: ["v=spf1 -all", 'quotes " and \\ and ünicode'],
    // node:dns reads each byte as a character.
    answer: [[Buffer.from('quotes " and \\ and ünicode').toString("latin1")], ["v=spf1 -all"]],
  },
  { name: "s1._domainkey", type: "TXT", values: [key], answer: [[key.slice(0, 255), key.slice(255)]] },
  { name: "office", type: "NS", values: ["ns1.office.example"], answer: "referral" },
  {
    name: "_sip._tcp",
    type: "SRV",
    values: ["10 5 5060 sip.every.test"],
    answer: [{ type: "SRV", priority: 10, weight: 5, port: 5060, name: "sip.every.test" }],
  },
  {
    name: "@",
    type: "CAA",
    values: ['0 issue "ca.example"'],
    answer: [{ type: "CAA", critical: 0, issue: "ca.example" }],
  },
  { name: "10.hosts", type: "PTR", values: ["www.every.test"], answer: ["www.every.test"] },
  {
    name: "_443._tcp.www",
    type: "TLSA",
    values: [`3 1 1 ${hash.toUpperCase()}`],
    answer: [{ certUsage: 3, selector: 1, match: 1, data: bytesOf(hash) }],
  },
  { name: "www", type: "SSHFP", values: [`4 2 ${hash}`], answer: null },
  { name: "*.dev", type: "A", values: ["192.0.2.30"], answer: ["192.0.2.30"] },
];

function bytesOf(hex: string): ArrayBuffer {
  return Uint8Array.from(Buffer.from(hex, "hex")).buffer;
}

describe.skipIf(powerDns.missing)("domains that PowerDNS serves", { timeout: 120_000 }, () => {
  let quickstart: QuickstartHome;
  let client: ApiClient;
  let resolver: Resolver;
  let domain: Schemas["Domain"];

  beforeAll(async () => {
    quickstart = await QuickstartHome.open();
    const run = quickstart.start();
    await quickstart.untilServing(run);
    expect(run.output()).toMatch(/^DNS +PowerDNS answers at 127\.0\.0\.1:\d+;/m);
    const { api_url: baseUrl, organisation_token: token, dns_server: server } = quickstart.file();
    client = createApiClient({ baseUrl, token, timeoutMs: 60_000 });
    resolver = new Resolver();
    resolver.setServers([server]);
    domain = await provenDomain("every.test");
  }, 240_000);
  afterAll(() => quickstart?.close(), 60_000);

  /** A call's data; the test fails with the problem when there is none. */
  function answered<Data>({ data, error }: { readonly data?: Data; readonly error?: unknown }): Data {
    expect(error).toBeUndefined();
    if (data === undefined) throw new Error("neither data nor an error");
    return data;
  }

  async function enter(name: string, type: string, contents: readonly string[]): Promise<void> {
    const { registrar_url: url, registrar_key: registrarKey } = quickstart.file();
    await replace(url, registrarKey, { name, type, contents });
  }

  /** At PowerDNS, as an operator with its key could. */
  async function changeByHand(name: string, address: string): Promise<void> {
    const read = (file: string) => readFileSync(join(quickstart.directory, file), "utf8");
    const [, api = ""] = /url: (\S+)/.exec(read("dns.yaml")) ?? [];
    const { dnsApiKey } = JSON.parse(read("secrets.json")) as { readonly dnsApiKey: string };
    const url = `${api}/api/v1/servers/localhost/zones/${domain.name}.`;
    await replace(url, dnsApiKey, { name, type: "A", contents: [address] });
  }

  async function replace(
    url: string,
    apiKey: string,
    {
      name,
      type,
      contents,
    }: { readonly name: string; readonly type: string; readonly contents: readonly string[] },
  ): Promise<void> {
    const records = contents.map((content) => ({ content, disabled: false }));
    const response = await fetch(url, {
      method: "PATCH",
      headers: { "X-API-Key": apiKey },
      body: JSON.stringify({ rrsets: [{ name, type, ttl: 60, changetype: "REPLACE", records }] }),
    });
    expect([response.status, await response.text()]).toEqual([204, ""]);
  }

  /** How the job of an answer ended. */
  async function ended(answer: object): Promise<Schemas["JobStatus"]> {
    const job = "job" in answer ? (answer.job as Schemas["Job"] | null) : null;
    const id = job?.id ?? "";
    for (;;) {
      const state = answered(
        await client.GET("/jobs/{job_id}", { params: { path: { job_id: id }, query: { wait: 20 } } }),
      );
      if (state.done) return state.status;
    }
  }

  async function provenDomain(name: string): Promise<Schemas["Domain"]> {
    const added = answered(await client.POST("/domains", { body: { name } })).domain;
    const record = added.verification?.record;
    await enter(`${record?.name}.`, "TXT", [`"${record?.value}"`]);
    const proven = answered(
      await client.POST("/domains/{domain_id}/verify", { params: { path: { domain_id: added.id } } }),
    );
    expect(await ended(proven)).toBe("succeeded");
    return added;
  }

  async function change(
    changes: Schemas["RecordSetChanges"]["changes"],
    domainId = domain.id,
  ): Promise<void> {
    const made = answered(
      await client.POST("/domains/{domain_id}/changes", {
        params: { path: { domain_id: domainId } },
        body: { changes },
      }),
    );
    expect(await ended(made)).toBe("succeeded");
  }

  const wholeName = (name: string) =>
    name === "@" ? "every.test" : `${name.replace("*", "anything")}.every.test`;

  test("every record type resolves as it was written", async () => {
    await change(
      written.map(({ name, type, values }) => ({ op: "upsert", name, type, values: [...values] })),
    );
    for (const { name, type, answer } of written) {
      if (type === "SSHFP" || type === "NS") continue;
      const records = await resolver.resolve(wholeName(name), type);
      const sorted = [records].flat().toSorted(byText);
      expect([name, type, sorted]).toEqual([name, type, answer]);
    }
    const server = quickstart.file().dns_server;
    expect((await askNameServer(server, "www.every.test", "SSHFP")).answers).toMatchObject([
      { type: "SSHFP", data: { algorithm: 4, hash: 2, fingerprint: hash.toUpperCase() } },
    ]);
    // What is below it is served elsewhere, so the answer is a referral and not the record set.
    expect((await askNameServer(server, "office.every.test", "NS")).authorities).toMatchObject([
      { type: "NS", data: "ns1.office.example" },
    ]);
    const types = new Set(written.map(({ type }) => type));
    expect([...types].sort()).toEqual(
      ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SRV", "SSHFP", "TLSA", "TXT"].sort(),
    );
  });

  test("a job has ended when the name server answers with its change, also where it had said that there is nothing", async () => {
    for (const address of ["192.0.2.41", "192.0.2.42", "192.0.2.43"]) {
      await change([{ op: "upsert", name: "moving", type: "A", values: [address], ttl: 60 }]);
      expect(await resolver.resolve4("moving.every.test")).toEqual([address]);
      await change([{ op: "delete", name: "moving", type: "A" }]);
      await expect(resolver.resolve4("moving.every.test")).rejects.toMatchObject({ code: "ENOTFOUND" });
    }
  });

  test("a delegation to its name servers, which can be followed from the root, is right", async () => {
    await enter(
      "every.test.",
      "NS",
      domain.name_servers.map((name) => `${name}.`),
    );
    const check = answered(
      await client.GET("/domains/{domain_id}/check", { params: { path: { domain_id: domain.id } } }),
    );
    expect(check).toMatchObject({ is_right: true, problems: [], delegation: { state: "right" } });
    const { dns_server, registrar_url } = quickstart.file();
    const port = dns_server.split(":")[1];
    const internet = `${new URL(registrar_url).hostname}:${port}`;
    const name = "s1._domainkey.every.test";
    const referral = await askNameServer(internet, name, "TXT");
    expect(referral.answers).toEqual([]);
    for (const { data } of (referral.authorities ?? []) as StringAnswer[]) {
      const [located] = (await askNameServer(internet, data, "A")).answers as StringAnswer[];
      expect((await askNameServer(`${located?.data}:${port}`, name, "TXT")).answers).toHaveLength(1);
    }
    expect(referral.authorities).toHaveLength(domain.name_servers.length);
  });

  test("a delegation proves a domain as well, and one inside of it is delegated by its zone", async () => {
    const added = answered(await client.POST("/domains", { body: { name: "delegated.test" } })).domain;
    const path = { params: { path: { domain_id: added.id } } };
    expect((await client.POST("/domains/{domain_id}/verify", path)).response.status).toBe(409);
    const [first = ""] = added.verification?.name_servers ?? [];
    await enter("delegated.test.", "NS", [`${first}.`]);
    expect(await ended(answered(await client.POST("/domains/{domain_id}/verify", path)))).toBe("succeeded");
    const inside = answered(await client.POST("/domains", { body: { name: "eu.delegated.test" } }));
    expect(await ended(inside)).toBe("succeeded");
    expect((await resolver.resolveNs("eu.delegated.test")).sort()).toEqual(
      [...inside.domain.name_servers].sort(),
    );
  });

  test("a public IP has the reverse name of its pool's pattern, and its own, from the root on", async () => {
    for (const version of [4, 6] as const) {
      const ip = answered(await client.POST("/public-ips", { body: { version } }));
      const label = ip.address.replace("::", ":0:0:0:0:").replaceAll(/[.:]/g, "-");
      expect(ip.reverse_name).toBe(`${label}.static.lab.test`);
      const path = { params: { path: { public_ip_id: ip.id } } };
      const served = async () => answered(await client.GET("/public-ips/{public_ip_id}", path)).ptr_status;
      await expect.poll(served, { timeout: 30_000 }).toBe("served");
      expect(await resolver.reverse(ip.address)).toEqual([ip.reverse_name]);
      answered(
        await client.PATCH("/public-ips/{public_ip_id}", { ...path, body: { ptr: "mail.every.test" } }),
      );
      await expect.poll(served, { timeout: 30_000 }).toBe("served");
      expect(await resolver.reverse(ip.address)).toEqual(["mail.every.test"]);
    }
    const { dns_server, registrar_url } = quickstart.file();
    const port = dns_server.split(":")[1];
    const internet = `${new URL(registrar_url).hostname}:${port}`;
    for (const { zone } of labReverseZones.filter(({ block }) => !block.startsWith("203."))) {
      const referral = (await askNameServer(internet, zone, "SOA")).authorities as StringAnswer[];
      expect(referral.map(({ data }) => data)).toEqual(["reverse.ns1.lab.test", "reverse.ns2.lab.test"]);
      const [located] = (await askNameServer(internet, "reverse.ns1.lab.test", "A"))
        .answers as StringAnswer[];
      expect((await askNameServer(`${located?.data}:${port}`, zone, "SOA")).answers).toHaveLength(1);
    }
  });

  test("a zone that somebody changed at PowerDNS is put right", async () => {
    const path = { params: { path: { domain_id: domain.id } } };
    await changeByHand("www.every.test.", "203.0.113.66");
    await changeByHand("extra.every.test.", "203.0.113.67");
    expect(await resolver.resolve4("extra.every.test")).toEqual(["203.0.113.67"]);
    expect(await ended(answered(await client.POST("/domains/{domain_id}/apply", path)))).toBe("succeeded");
    expect((await resolver.resolve4("www.every.test")).sort()).toEqual(["192.0.2.10", "192.0.2.11"]);
    await expect(resolver.resolve4("extra.every.test")).rejects.toMatchObject({ code: "ENOTFOUND" });
  });
});

/** Name servers give the records of a set in any order. */
function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
