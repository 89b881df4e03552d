import { createHash } from "node:crypto";
import { createSocket } from "node:dgram";
import { probePowerDns } from "@kule/lab/dns/powerdns-daemon";
import { findFreePort } from "@kule/postgres/free-port";
import { requirePart } from "@kule/testing/parts";
import { decode, encode } from "dns-packet";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Answered, askNameServer } from "./ask-name-server.ts";
import { checkZone } from "./check-zone.ts";
import {
  type DnsProvider,
  DnsRefused,
  DnsUnavailable,
  type RecordSet,
  type RecordSetChange,
} from "./dns-provider.ts";
import type { QuestionType } from "./message.ts";
import { powerDnsProvider } from "./powerdns.ts";
import { type ApiProxy, startApiProxy } from "./testing/api-proxy.ts";
import { API_KEY, type RunningDns, startRealPowerDns, startStandIn } from "./testing/dns-servers.ts";

const real = await requirePart("powerdns", probePowerDns, import.meta.filename);
const NAME_SERVERS = ["ns1.kule.test.", "ns2.kule.test."];

const put = (name: string, type: string, contents: readonly string[], ttlSeconds = 300): RecordSetChange => ({
  change: "replace",
  recordSet: { name, type, ttlSeconds, contents },
});
const remove = (name: string, type: string): RecordSetChange => ({ change: "delete", name, type });

/** `@` stands for the zone, with its final dot. */
const elevenTypes: readonly { type: QuestionType; name: string; values: readonly string[] }[] = [
  { type: "A", name: "www.@", values: ["192.0.2.1", "192.0.2.2"] },
  { type: "AAAA", name: "www.@", values: ["2001:db8::1", "2001:db8:0:1::"] },
  { type: "CNAME", name: "alias.@", values: ["host.other.test."] },
  { type: "MX", name: "@", values: ["10 mail.@", "20 mx.other.test.", "0 ."] },
  {
    type: "TXT",
    name: "_acme-challenge.@",
    values: ['"v=spf1 -all"', '"a\\"b\\\\c;" "\\195\\182\\000"', '""'],
  },
  { type: "NS", name: "sub.@", values: ["ns1.other.test.", "ns2.other.test."] },
  { type: "SRV", name: "_sip._tcp.@", values: ["10 20 5060 sip.@", "0 0 0 ."] },
  {
    type: "CAA",
    name: "@",
    values: ['0 issue "letsencrypt.org; validationmethods=dns-01"', '128 iodef "mailto:a@b.test"'],
  },
  { type: "PTR", name: "5.@", values: ["host_1.other.test."] },
  { type: "TLSA", name: "_443._tcp.@", values: [`3 1 1 ${"ab".repeat(32)}`] },
  { type: "SSHFP", name: "host.@", values: [`4 2 ${"cd".repeat(32)}`, `1 1 ${"ef".repeat(20)}`] },
];

const PARSING = "Parsing record content (try 'pdnsutil check-zone'):";
/** What PowerDNS 4.7 says; the zone has the address `taken` and the CNAME `alias`. */
const refusals: readonly { what: string; changes: readonly RecordSetChange[]; text: string }[] = [
  {
    what: "a CNAME beside an address",
    changes: [put("taken.@", "CNAME", ["a.b."])],
    text: "RRset taken.@ IN CNAME: Conflicts with pre-existing RRset",
  },
  {
    what: "an address beside a CNAME",
    changes: [put("alias.@", "A", ["192.0.2.1"])],
    text: "RRset alias.@ IN A: Conflicts with pre-existing RRset",
  },
  {
    what: "both in one call",
    changes: [put("new.@", "CNAME", ["a.b."]), put("new.@", "TXT", ['"a"'])],
    text: "RRset new.@ IN TXT: Conflicts with pre-existing RRset",
  },
  {
    what: "a CNAME at the apex",
    changes: [put("@", "CNAME", ["a.b."])],
    text: "RRset @ IN CNAME: Conflicts with pre-existing RRset",
  },
  {
    what: "two CNAMEs",
    changes: [put("new.@", "CNAME", ["a.b.", "c.d."])],
    text: "RRset new.@ IN CNAME has more than one record",
  },
  {
    what: "a value twice",
    changes: [put("new.@", "A", ["192.0.2.1", "192.0.2.1"])],
    text: 'Duplicate record in RRset new.@ IN A with content "192.0.2.1"',
  },
  {
    what: "a set twice",
    changes: [put("new.@", "A", ["192.0.2.1"]), put("new.@", "A", ["192.0.2.2"])],
    text: "Duplicate RRset new.@ IN A with changetype: REPLACE",
  },
  {
    what: "a name without the final dot",
    changes: [put("www.example.com", "A", ["192.0.2.1"])],
    text: "DNS Name 'www.example.com' is not canonical",
  },
  {
    what: "a name outside of the zone",
    changes: [put("www.example.org.", "A", ["192.0.2.1"])],
    text: "RRset www.example.org. IN A: Name is out of zone",
  },
  {
    what: "a name with other characters",
    changes: [put("w;w.@", "A", ["192.0.2.1"])],
    text: "Name 'w;w.@' contains unsupported characters",
  },
  {
    what: "a name with a space",
    changes: [put("w w.@", "A", ["192.0.2.1"])],
    text: "Name 'w\\032w.@' contains unsupported characters",
  },
  {
    what: "a name with letters that are not ASCII",
    changes: [put("w\u00f6w.@", "A", ["192.0.2.1"])],
    text: "Name 'w\\195\\182w.@' contains unsupported characters",
  },
  {
    what: "a wildcard inside of a name",
    changes: [put("a.*.@", "A", ["192.0.2.1"])],
    text: "Name 'a.*.@' contains unsupported characters",
  },
  {
    what: "an empty label",
    changes: [put("a..@", "A", ["192.0.2.1"])],
    text: "Unable to parse DNS Name 'a..@'",
  },
  {
    what: "a label of 64",
    changes: [put(`${"a".repeat(64)}.@`, "A", ["192.0.2.1"])],
    text: `Unable to parse DNS Name '${"a".repeat(64)}.@'`,
  },
  {
    what: "an unknown type",
    changes: [put("new.@", "FOO", ["192.0.2.1"])],
    text: "RRset new.@ IN FOO: unknown type given",
  },
  {
    what: "a SOA below the apex",
    changes: [put("new.@", "SOA", ["a.b. c.d. 1 2 3 4 5"])],
    text: "Record new.@ IN SOA is only allowed at apex",
  },
  {
    what: "a name server with an underscore",
    changes: [put("new.@", "NS", ["_a.b."])],
    text: "RRset new.@ IN NS non-hostname content _a.b.",
  },
  ...(
    [
      ["A", "192.0.02.1", "Not in expected format (parsed as '192.0.2.1')"],
      ["A", "192.0.2.256", `${PARSING} unable to parse IP address`],
      ["A", "1.2.3", `${PARSING} unable to parse IP address, not enough dots`],
      ["A", "foo", `${PARSING} while parsing IP address, expected digits at position 0 in 'foo'`],
      ["A", "", `${PARSING} missing field at the end of record content ''`],
      ["A", "1.2.3.4 5", "When parsing A trailing data was not parsed: ' 5'"],
      ["A", "1.2.3.4 ", "Not in expected format (parsed as '1.2.3.4')"],
      ["AAAA", "2001:db8::g", "Invalid IPv6 address"],
      ["AAAA", "::ffff:1.2.3.4", "Invalid IPv6 address"],
      ["CNAME", "x.example.com", "Not in expected format (parsed as 'x.example.com.')"],
      ["CNAME", "a..b.", "Found . in wrong position in DNSName a..b."],
      ["CNAME", `${"a".repeat(64)}.b.`, "label too long to append"],
      ["PTR", "x", "Not in expected format (parsed as 'x.')"],
      ["NS", "x.y", "Not in expected format (parsed as 'x.y.')"],
      ["MX", "10 x.y", "Not in expected format (parsed as '10 x.y.')"],
      ["MX", "10  x.y.", "Not in expected format (parsed as '10 x.y.')"],
      ["MX", "x.y.", `${PARSING} expected digits at position 0 in 'x.y.'`],
      ["MX", "70000 x.y.", `${PARSING} Overflow reading 16 bit integer from record content`],
      ["SRV", "10 1 80 x.y", "Not in expected format (parsed as '10 1 80 x.y.')"],
      ["SRV", "1 2 3", `${PARSING} missing field at the end of record content '1 2 3'`],
      ["TXT", "hello", "Not in expected format (parsed as '\"hello\"')"],
      ["TXT", '"abc', `${PARSING} Data field in DNS should end on a quote (") in '"abc'`],
      ["TXT", '"a"  "b"', 'Not in expected format (parsed as \'"a" "b"\')'],
      [
        "CAA",
        "0 issue letsencrypt.org",
        `${PARSING} Data field in DNS should start with quote (") at position 8 of '0 issue letsencrypt.org'`,
      ],
      ["CAA", '256 issue "x"', `${PARSING} Overflow reading 8 bit integer from record content`],
      ["TLSA", "3 1 1 abc", "Not in expected format (parsed as '3 1 1 abc0')"],
      ["TLSA", "3 1 1 zz", `${PARSING} Unknown hexadecimal character '122'`],
      ["TLSA", "3 1", `${PARSING} missing field at the end of record content '3 1'`],
      ["SSHFP", "4 2 zz", `${PARSING} Unknown hexadecimal character '122'`],
    ] as const
  ).map(([type, content, text]) => ({
    what: `${type} ${content.slice(0, 20)}`,
    changes: [put("new.@", type, [content])],
    text: `Record new.@/${type} '${content}': ${text}`,
  })),
];

const servers = [
  { title: "the stand-in", missing: false, start: () => startStandIn() },
  { title: "PowerDNS", missing: real.missing, start: startRealPowerDns },
];

for (const { title, missing, start } of servers) {
  describe.skipIf(missing)(title, { timeout: 120_000 }, () => {
    let dns: RunningDns;
    let proxy: ApiProxy;
    let provider: DnsProvider;
    let count = 0;

    beforeAll(async () => {
      dns = await start();
      proxy = await startApiProxy(dns.url);
      provider = powerDnsProvider({ url: proxy.url, apiKey: API_KEY });
    });
    afterEach(() => {
      proxy.calls.length = 0;
    });
    afterAll(async () => {
      await proxy?.close();
      await dns?.close();
    });

    /** A new zone with these changes made in one call. */
    async function zoneWith(...changes: RecordSetChange[]): Promise<string> {
      count += 1;
      const name = `zone${count}.example`;
      await provider.createZone(name, NAME_SERVERS);
      await provider.changeZone(
        name,
        changes.map((each) => within(each, name)),
      );
      proxy.calls.length = 0;
      return name;
    }
    /** `@` in a change's names and contents stands for the zone. */
    function within(change: RecordSetChange, zone: string): RecordSetChange {
      const full = (text: string): string => text.replaceAll("@", `${zone}.`);
      if (change.change === "delete") return { ...change, name: full(change.name) };
      const { recordSet } = change;
      return put(full(recordSet.name), recordSet.type, recordSet.contents.map(full), recordSet.ttlSeconds);
    }
    const change = (zone: string, ...changes: RecordSetChange[]): Promise<void> =>
      provider.changeZone(
        zone,
        changes.map((each) => within(each, zone)),
      );

    async function ask(name: string, type: QuestionType, overTcp = false): Promise<Answered> {
      const answer = await askNameServer(
        { address: dns.address, port: dns.dnsPort },
        { name, type },
        { overTcp, deadlineMilliseconds: 10_000 },
      );
      if (answer.outcome !== "answered") throw new Error(`${name} ${type}: ${answer.reason}`);
      return answer;
    }
    const contents = (answer: Answered): string[] => answer.answers.map((each) => each.content).sort();
    async function setOf(zone: string, name: string, type: string): Promise<RecordSet | undefined> {
      const read = await provider.readZone(zone);
      return read?.recordSets.find((each) => each.name === name && each.type === type);
    }
    async function serialOf(zone: string): Promise<number> {
      return (await provider.readZone(zone))?.serial ?? -1;
    }

    describe("zones", () => {
      test("a zone that was never made reads as none, and deleting it is success", async () => {
        expect(await provider.readZone("absent.example")).toBeNull();
        await provider.deleteZone("absent.example");
        await provider.disableDnssec("absent.example");
      });

      test("a new zone has its SOA and the name servers, and is answered with authority", async () => {
        const zone = await zoneWith();
        expect((await setOf(zone, `${zone}.`, "NS"))?.contents.toSorted()).toEqual(NAME_SERVERS);
        const soa = await ask(zone, "SOA");
        expect(soa).toMatchObject({ code: "NOERROR", authoritative: true });
        expect(soa.answers[0]?.content).toMatch(
          /^ns1\.kule\.test\. hostmaster\.kule\.test\. \d+ 10800 3600 604800 300$/,
        );
        expect(contents(await ask(zone, "NS"))).toEqual(NAME_SERVERS);
      });

      test("creating a zone twice keeps what is in it", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        await provider.createZone(zone, NAME_SERVERS);
        expect((await setOf(zone, `www.${zone}.`, "A"))?.contents).toEqual(["192.0.2.1"]);
      });

      test("a zone whose making was interrupted is completed by the next create", async () => {
        const zone = await zoneWith();
        await change(zone, remove("@", "SOA"), remove("@", "NS"));
        expect(await serialOf(zone)).toBe(0);
        await provider.createZone(zone, NAME_SERVERS);
        expect(await ask(zone, "SOA")).toMatchObject({ code: "NOERROR", authoritative: true });
        const before = await serialOf(zone);
        await change(zone, put("www.@", "A", ["192.0.2.1"]));
        expect(await serialOf(zone)).toBe(before + 1);
      });

      test("a zone of another kind is left alone", async () => {
        const body = JSON.stringify({
          name: "theirs.example.",
          kind: "Slave",
          masters: ["192.0.2.1"],
          nameservers: [],
        });
        await fetch(`${dns.url}/api/v1/servers/localhost/zones`, {
          method: "POST",
          headers: { "X-API-Key": API_KEY, "Content-Type": "application/json" },
          body,
        });
        await expect(provider.createZone("theirs.example", NAME_SERVERS)).rejects.toMatchObject({
          status: 409,
          text: "the zone exists as Slave, which Kule does not change",
        });
      });

      test("a deleted zone is refused to those who ask, and can be made again", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        await provider.deleteZone(zone);
        expect(await ask(`www.${zone}`, "A")).toMatchObject({ code: "REFUSED", authoritative: false });
        await provider.createZone(zone, NAME_SERVERS);
        // Another name: PowerDNS answers what it was asked before from its cache for up to 20 s (cache-ttl).
        expect((await ask(`new.${zone}`, "A")).code).toBe("NXDOMAIN");
        expect((await provider.readZone(zone))?.recordSets).toHaveLength(2);
      });

      test("reverse zones, also those of less than an octet, have their PTR", async () => {
        for (const zone of ["2.0.192.in-addr.arpa", "0/25.2.0.192.in-addr.arpa", "_private.example"]) {
          await provider.createZone(zone, NAME_SERVERS);
          await change(zone, put("5.@", "PTR", ["host.kule.test."]));
          expect(contents(await ask(`5.${zone}`, "PTR"))).toEqual(["host.kule.test."]);
          await provider.deleteZone(zone);
        }
      });

      test("zones and their serial are there after a restart", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        const serial = await serialOf(zone);
        await dns.restart();
        expect(await serialOf(zone)).toBe(serial);
        expect(contents(await ask(`www.${zone}`, "A"))).toEqual(["192.0.2.1"]);
      });
    });

    describe("changes", () => {
      test("no changes are no call, since each call raises the serial", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        const serial = await serialOf(zone);
        await provider.changeZone(zone, []);
        expect(await serialOf(zone)).toBe(serial);
        await change(zone, put("www.@", "A", ["192.0.2.1"]));
        expect(await serialOf(zone)).toBe(serial + 1);
      });

      test("a CNAME takes the place of an address in one call, and the other way round", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        await change(zone, put("www.@", "CNAME", ["host.other.test."]), remove("www.@", "A"));
        expect(contents(await ask(`www.${zone}`, "CNAME"))).toEqual(["host.other.test."]);
        await change(zone, put("www.@", "A", ["192.0.2.2"]), remove("www.@", "CNAME"));
        expect(contents(await ask(`www.${zone}`, "A"))).toEqual(["192.0.2.2"]);
      });

      test("the same change again, and deleting what is not there, are success", async () => {
        const zone = await zoneWith();
        for (let time = 0; time < 2; time += 1) {
          await change(zone, put("www.@", "A", ["192.0.2.1"]), remove("old.@", "TXT"));
          expect((await setOf(zone, `www.${zone}.`, "A"))?.contents).toEqual(["192.0.2.1"]);
        }
      });

      test("one bad record leaves the zone and its serial as they were", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        const before = await provider.readZone(zone);
        const bad = change(
          zone,
          remove("www.@", "A"),
          put("ok.@", "A", ["192.0.2.2"]),
          put("bad.@", "A", ["foo"]),
        );
        await expect(bad).rejects.toBeInstanceOf(DnsRefused);
        const after = await provider.readZone(zone);
        expect(after?.serial).toBe(before?.serial);
        expect(sorted(after?.recordSets)).toEqual(sorted(before?.recordSets));
      });

      test("changing a zone that does not exist is refused as 404", async () => {
        const absent = provider.changeZone("absent.example", [
          put("www.absent.example.", "A", ["192.0.2.1"]),
        ]);
        await expect(absent).rejects.toMatchObject({ name: "DnsRefused", status: 404, text: "Not Found" });
      });

      test("a record that was switched off by hand is listed as a set without contents and not answered", async () => {
        const zone = await zoneWith();
        const rrset = {
          name: `off.${zone}.`,
          type: "A",
          ttl: 60,
          changetype: "REPLACE",
          records: [{ content: "192.0.2.1", disabled: true }],
        };
        await fetch(`${dns.url}/api/v1/servers/localhost/zones/${zone}.`, {
          method: "PATCH",
          headers: { "X-API-Key": API_KEY, "Content-Type": "application/json" },
          body: JSON.stringify({ rrsets: [rrset] }),
        });
        expect((await setOf(zone, `off.${zone}.`, "A"))?.contents).toEqual([]);
        expect((await ask(`off.${zone}`, "A")).answers).toEqual([]);
      });

      test.each(refusals)("PowerDNS' text is told: $what", async ({ changes, text }) => {
        const zone = await zoneWith(put("taken.@", "A", ["192.0.2.1"]), put("alias.@", "CNAME", ["a.b."]));
        const refused = change(zone, ...changes);
        await expect(refused).rejects.toMatchObject({ name: "DnsRefused", status: 422 });
        const message = await refused.then(
          () => "",
          (error: DnsRefused) => error.text,
        );
        expect(message.replaceAll(`${zone}.`, "@")).toBe(text);
      });

      test("a change that is larger than PowerDNS takes names the setting that allows it", async () => {
        const zone = await zoneWith();
        const values = Array.from({ length: 600 }, (_, index) => `"${index}${"x".repeat(4_000)}"`);
        // PowerDNS answers 400, or closes the connection before it has everything.
        await expect(change(zone, put("big.@", "TXT", values))).rejects.toThrow("webserver-max-bodysize");
      });

      test("texts are cut to 300 characters", async () => {
        const zone = await zoneWith();
        const refused = change(zone, put("www.@", "A", ["x".repeat(2_000)]));
        const error: DnsRefused = await refused.catch((thrown) => thrown);
        expect(error).toBeInstanceOf(DnsRefused);
        expect(error.text).toHaveLength(300);
        expect(error.message.length).toBeLessThan(400);
      });
    });

    describe("answers", () => {
      test.each(elevenTypes)(
        "$type is answered as it was set, over UDP and TCP",
        async ({ type, name, values }) => {
          const zone = await zoneWith(put(name, type, values, 1_234));
          const expected = values.map((each) => each.replaceAll("@", `${zone}.`)).sort();
          const at = name.replaceAll("@", `${zone}.`);
          expect((await setOf(zone, at, type))?.contents.toSorted()).toEqual(expected);
          for (const overTcp of [false, true]) {
            const answer = await ask(at, type, overTcp);
            // NS below the apex are a delegation: told, but not answered with authority.
            const delegated = type === "NS";
            const records = delegated ? answer.authorities : answer.answers;
            expect(answer).toMatchObject({ code: "NOERROR", overTcp, authoritative: !delegated });
            expect(records.map((each) => each.content).sort()).toEqual(expected);
            expect(new Set(records.map((each) => each.ttlSeconds))).toEqual(new Set([1_234]));
          }
        },
      );

      test("a TXT of more than 255 bytes that is not split is answered in strings of 255", async () => {
        const zone = await zoneWith(put("long.@", "TXT", [`"${"y".repeat(300)}"`]));
        expect(contents(await ask(`long.${zone}`, "TXT"))).toEqual([
          `"${"y".repeat(255)}" "${"y".repeat(45)}"`,
        ]);
      });

      test("an answer that does not fit into a datagram comes over TCP", async () => {
        const values = Array.from({ length: 30 }, (_, index) => `"${index} ${"x".repeat(100)}"`);
        const zone = await zoneWith(put("big.@", "TXT", values));
        const answer = await ask(`big.${zone}`, "TXT");
        expect(answer.overTcp).toBe(true);
        expect(contents(answer)).toEqual(values.toSorted());
      });

      test("without EDNS 512 bytes are the limit, and 1,232 with it, whatever is asked for", async () => {
        const values = (count: number) =>
          Array.from({ length: count }, (_, index) => `"${index}${"x".repeat(90)}"`);
        const zone = await zoneWith(put("mid.@", "TXT", values(8)), put("big.@", "TXT", values(20)));
        const sizes: readonly [string, number | null, boolean][] = [
          ["mid", null, true],
          ["mid", 600, true],
          ["mid", 1_232, false],
          ["big", 4_096, true],
        ];
        for (const [name, size, truncated] of sizes) {
          const reply = await exchangeUdp(dns, `${name}.${zone}`, "TXT", size);
          expect({ name, size, truncated: decode(reply).flag_tc }).toEqual({ name, size, truncated });
        }
      });

      test("names are found in any case", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        const reply = decode(await exchangeUdp(dns, `WwW.${zone.toUpperCase()}`, "A", null));
        expect(reply.answers).toMatchObject([{ type: "A", data: "192.0.2.1" }]);
      });

      test("a name that is not there is NXDOMAIN, another type NODATA, both with the SOA for 300 s", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]), put("a.b.c.@", "A", ["192.0.2.2"]));
        const soa = [{ name: `${zone}.`, type: "SOA", ttlSeconds: 300 }];
        expect(await ask(`no.${zone}`, "A")).toMatchObject({
          code: "NXDOMAIN",
          authoritative: true,
          answers: [],
          authorities: soa,
        });
        for (const [name, type] of [
          ["www", "AAAA"],
          // They exist because of what is below them.
          ["b.c", "A"],
          ["c", "A"],
        ] as const)
          expect(await ask(`${name}.${zone}`, type)).toMatchObject({
            code: "NOERROR",
            authoritative: true,
            answers: [],
            authorities: soa,
          });
      });

      test("a CNAME is followed inside of the server's zones, to its end outside, and never in circles", async () => {
        const other = await zoneWith(put("www.@", "A", ["192.0.2.77"]));
        const zone = await zoneWith(
          put("www.@", "A", ["192.0.2.1"]),
          put("one.@", "CNAME", ["two.@"]),
          put("two.@", "CNAME", ["www.@"]),
          put("away.@", "CNAME", ["www.elsewhere.test."]),
          put("other.@", "CNAME", [`www.${other}.`]),
          put("void.@", "CNAME", ["no.@"]),
          put("left.@", "CNAME", ["right.@"]),
          put("right.@", "CNAME", ["left.@"]),
        );
        expect(contents(await ask(`one.${zone}`, "A"))).toEqual([
          "192.0.2.1",
          `two.${zone}.`,
          `www.${zone}.`,
        ]);
        expect(contents(await ask(`one.${zone}`, "CNAME"))).toEqual([`two.${zone}.`]);
        expect(await ask(`one.${zone}`, "AAAA")).toMatchObject({
          code: "NOERROR",
          authorities: [{ type: "SOA" }],
        });
        expect(contents(await ask(`away.${zone}`, "A"))).toEqual(["www.elsewhere.test."]);
        expect(contents(await ask(`other.${zone}`, "A"))).toEqual(["192.0.2.77", `www.${other}.`]);
        expect(await ask(`void.${zone}`, "A")).toMatchObject({ code: "NXDOMAIN", authoritative: true });
        expect(await ask(`left.${zone}`, "A")).toMatchObject({ code: "SERVFAIL", answers: [] });
      });

      test("a wildcard stands for what is not there, from the closest encloser only", async () => {
        const zone = await zoneWith(
          put("*.w.@", "A", ["192.0.2.3"]),
          put("x.y.w.@", "A", ["192.0.2.4"]),
          put("*.c.@", "CNAME", ["x.y.w.@"]),
        );
        expect(contents(await ask(`a.w.${zone}`, "A"))).toEqual(["192.0.2.3"]);
        expect((await ask(`a.w.${zone}`, "A")).answers[0]?.name).toBe(`a.w.${zone}.`);
        expect(contents(await ask(`a.b.w.${zone}`, "A"))).toEqual(["192.0.2.3"]);
        expect(contents(await ask(`q.c.${zone}`, "A"))).toEqual(["192.0.2.4", `x.y.w.${zone}.`]);
        expect(await ask(`a.w.${zone}`, "TXT")).toMatchObject({ code: "NOERROR", answers: [] });
        // y.w exists because of x.y.w, so that *.w does not reach below it, nor to itself.
        expect(await ask(`z.y.w.${zone}`, "A")).toMatchObject({ code: "NXDOMAIN" });
        expect(await ask(`y.w.${zone}`, "A")).toMatchObject({ code: "NOERROR", answers: [] });
        expect(await ask(`w.${zone}`, "A")).toMatchObject({ code: "NOERROR", answers: [] });
      });

      test("what is delegated is answered by a referral with its addresses, without authority", async () => {
        const zone = await zoneWith(
          put("sub.@", "NS", ["ns1.sub.@", "ns.other.test."]),
          put("ns1.sub.@", "A", ["192.0.2.53"]),
          put("into.@", "CNAME", ["www.sub.@"]),
        );
        for (const name of ["www.sub", "sub", "ns1.sub"]) {
          const answer = await ask(`${name}.${zone}`, "A");
          expect(answer).toMatchObject({ code: "NOERROR", authoritative: false, answers: [] });
          expect(answer.authorities.map((each) => each.content).sort()).toEqual([
            "ns.other.test.",
            `ns1.sub.${zone}.`,
          ]);
          expect(answer.additionals.map((each) => each.content)).toEqual(["192.0.2.53"]);
        }
        expect(await ask(`sub.${zone}`, "DS")).toMatchObject({
          authoritative: true,
          authorities: [{ type: "SOA" }],
        });
        expect(await ask(`into.${zone}`, "A")).toMatchObject({
          answers: [{ content: `www.sub.${zone}.` }],
          authorities: [{ type: "NS" }, { type: "NS" }],
        });
      });

      test("other zones, transfers and ANY over UDP give nothing away", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        expect(await ask("www.elsewhere.test", "A")).toMatchObject({ code: "REFUSED", authoritative: false });
        expect(await ask("example", "SOA")).toMatchObject({ code: "REFUSED" });
        expect(await ask(zone, "AXFR", true)).toMatchObject({ code: "NOTAUTH", answers: [] });
        const any = decode(await exchangeUdp(dns, `www.${zone}`, "ANY", 1_232));
        expect({ truncated: any.flag_tc, answers: any.answers }).toEqual({ truncated: true, answers: [] });
      });
    });

    describe("10,000 record sets", () => {
      test("one that differs costs one PATCH of one set", async () => {
        const zone = await zoneWith(
          ...Array.from({ length: 10_000 }, (_, index) => put(`host${index}.@`, "A", ["192.0.2.1"])),
        );
        expect((await provider.readZone(zone))?.recordSets).toHaveLength(10_002);
        proxy.calls.length = 0;
        await change(zone, put("host5000.@", "A", ["192.0.2.2"]));
        expect(proxy.calls.map(({ method }) => method)).toEqual(["PATCH"]);
        expect(proxy.calls[0]?.requestBytes).toBeLessThan(250);
        expect(contents(await ask(`host5000.${zone}`, "A"))).toEqual(["192.0.2.2"]);
        expect(contents(await ask(`host5001.${zone}`, "A"))).toEqual(["192.0.2.1"]);
      });
    });

    describe("DNSSEC", () => {
      test("switched on it tells the DS that fits the DNSKEY; again it is the same key; off there is none", async () => {
        const zone = await zoneWith(put("www.@", "A", ["192.0.2.1"]));
        expect((await provider.readZone(zone))?.dnssec).toBeNull();
        const ds = await provider.enableDnssec(zone);
        const [key] = contents(await ask(zone, "DNSKEY"));
        expect(ds).toContain(dsOf(`${zone}.`, key ?? ""));
        expect(ds.map((each) => each.split(" ")[2])).not.toContain("1");
        expect(await provider.enableDnssec(zone)).toEqual(ds);
        expect((await provider.readZone(zone))?.dnssec).toEqual({ ds });
        await provider.disableDnssec(zone);
        await provider.disableDnssec(zone);
        expect((await provider.readZone(zone))?.dnssec).toBeNull();
      });

      test("a lost answer to the new key does not make a second one", async () => {
        const zone = await zoneWith();
        proxy.fail("POST", "lost-reply");
        await expect(provider.enableDnssec(zone)).rejects.toMatchObject({ reason: "unreachable" });
        const ds = await provider.enableDnssec(zone);
        expect(proxy.calls.filter(({ method }) => method === "POST")).toHaveLength(1);
        expect(ds).toContain(dsOf(`${zone}.`, contents(await ask(zone, "DNSKEY"))[0] ?? ""));
      });

      test("a key that is not active is used instead of a second one, and removed with the others", async () => {
        const zone = await zoneWith();
        const ds = await provider.enableDnssec(zone);
        const keys = `${dns.url}/api/v1/servers/localhost/zones/${zone}./cryptokeys`;
        const list = await fetch(keys, { headers: { "X-API-Key": API_KEY } });
        const [key] = (await list.json()) as { id: number }[];
        await fetch(`${keys}/${key?.id}`, {
          method: "PUT",
          headers: { "X-API-Key": API_KEY, "Content-Type": "application/json" },
          body: JSON.stringify({ active: false }),
        });
        expect((await provider.readZone(zone))?.dnssec).toBeNull();
        expect(await provider.enableDnssec(zone)).toEqual(ds);
        await provider.disableDnssec(zone);
        const left = await fetch(keys, { headers: { "X-API-Key": API_KEY } });
        expect(await left.json()).toEqual([]);
      });

      test("the private key is in no error, and signing an absent zone is refused", async () => {
        await expect(provider.enableDnssec("absent.example")).rejects.toMatchObject({ status: 404 });
        const zone = await zoneWith();
        await provider.enableDnssec(zone);
        const made = proxy.calls.find(({ method }) => method === "POST")?.answer ?? "";
        expect(made).toContain("PrivateKey");
        expect(await provider.readZone(zone).then(JSON.stringify)).not.toContain("PrivateKey");
      });
    });

    describe("a check", () => {
      test("tells of each name server whether it answers, with which serial and NS", async () => {
        const zone = await zoneWith();
        const closed = "127.0.0.99";
        const check = await checkZone(
          zone,
          [
            { name: "ns1.kule.test", addresses: [dns.address] },
            { name: "ns2.kule.test", addresses: [closed] },
          ],
          { start: { kind: "roots", addresses: [dns.address] }, port: dns.dnsPort, mayAsk: () => true },
        );
        expect(check.nameServers).toEqual([
          {
            name: "ns1.kule.test.",
            addresses: [
              {
                address: dns.address,
                answers: true,
                authoritative: true,
                code: "NOERROR",
                serial: await serialOf(zone),
                nameServers: NAME_SERVERS,
              },
            ],
          },
          {
            name: "ns2.kule.test.",
            addresses: [{ address: closed, answers: false, problem: "unreachable" }],
          },
        ]);
        expect(check.delegation).toMatchObject({ outcome: "delegated", saidBy: "zone-itself" });
        expect({ missing: check.missing, foreign: check.foreign }).toEqual({ missing: [], foreign: [] });
      });

      test("tells of a server that does not have the zone why it is not authoritative", async () => {
        const check = await checkZone(
          "absent.example",
          [{ name: "ns1.kule.test", addresses: [dns.address] }],
          {
            start: { kind: "roots", addresses: [dns.address] },
            port: dns.dnsPort,
          },
        );
        expect(check.nameServers[0]?.addresses[0]).toMatchObject({
          authoritative: false,
          code: "REFUSED",
          serial: null,
          nameServers: null,
        });
        expect(check.delegation).toMatchObject({ outcome: "unresolved", reason: "lame" });
        expect(check.missing).toBeNull();
      });
    });

    describe("away", () => {
      const short = (url: string): DnsProvider =>
        powerDnsProvider({ url, apiKey: API_KEY, deadlineMilliseconds: 1_500 });

      test("a refused connection is told as unreachable", async () => {
        const nobody = short(`http://127.0.0.1:${await findFreePort()}`);
        await expect(nobody.readZone("any.example")).rejects.toMatchObject({
          name: "DnsUnavailable",
          reason: "unreachable",
        });
      });

      test("no answer is told as a timeout, and an abort by the caller as the caller's reason", async () => {
        proxy.fail("GET", "hang");
        await expect(short(proxy.url).readZone("any.example")).rejects.toMatchObject({ reason: "timeout" });
        proxy.fail("GET", "hang");
        const controller = new AbortController();
        const reading = provider.readZone("any.example", controller.signal);
        reading.catch(() => {});
        await expect.poll(() => proxy.pendingFaults()).toBe(0);
        controller.abort(new Error("the lease is lost"));
        await expect(reading).rejects.toThrow("the lease is lost");
      });

      test.each([
        [500, "server-error"],
        [503, "server-error"],
        [429, "server-error"],
        [401, "unauthorized"],
        [403, "unauthorized"],
        [302, "bad-answer"],
      ] as const)("%i is told as %s", async (status, reason) => {
        proxy.fail("GET", status, { headers: { location: `${dns.url}/api` }, body: "x".repeat(5_000) });
        const error: DnsUnavailable = await provider.readZone("any.example").catch((thrown) => thrown);
        expect(error).toBeInstanceOf(DnsUnavailable);
        expect(error.reason).toBe(reason);
        expect(error.message.length).toBeLessThan(400);
      });

      test("a wrong API key waits for the operator, and is not in the error", async () => {
        const wrong = powerDnsProvider({ url: proxy.url, apiKey: "secret-but-wrong" });
        const error: DnsUnavailable = await wrong.readZone("any.example").catch((thrown) => thrown);
        expect(error).toMatchObject({ name: "DnsUnavailable", reason: "unauthorized" });
        expect(JSON.stringify([error, error.message, error.stack])).not.toContain("secret-but-wrong");
      });

      test("another server's pages are not taken for a zone or for its absence", async () => {
        const html = { headers: { "content-type": "text/html" }, body: "<h1>Not Found</h1>" };
        proxy.fail("GET", 404, html);
        await expect(provider.readZone("any.example")).rejects.toMatchObject({ reason: "bad-answer" });
        proxy.fail("DELETE", 404, html);
        await expect(provider.deleteZone("any.example")).rejects.toMatchObject({ reason: "bad-answer" });
        for (const body of [
          "<h1>Hello</h1>",
          "[]",
          '{"rrsets":[]}',
          '{"rrsets":[{"name":1}],"serial":1}',
          "null",
        ]) {
          proxy.fail("GET", 200, { body });
          await expect(provider.readZone("any.example")).rejects.toMatchObject({ reason: "bad-answer" });
        }
      });

      test("an answer of more than 16 MiB is not read to its end", async () => {
        proxy.fail("GET", 200, { body: `{"rrsets":[],"serial":1}${" ".repeat(17 * 1024 * 1024)}` });
        await expect(provider.readZone("any.example")).rejects.toMatchObject({ reason: "bad-answer" });
      });

      test("every changing call can be repeated after its connection was cut, before or after it was done", async () => {
        for (const fault of ["cut", "lost-reply"] as const) {
          count += 1;
          const zone = `zone${count}.example`;
          const steps: readonly [string, () => Promise<unknown>][] = [
            ["POST", () => provider.createZone(zone, NAME_SERVERS)],
            ["PATCH", () => change(zone, put("www.@", "A", ["192.0.2.1"]), remove("old.@", "A"))],
            ["POST", () => provider.enableDnssec(zone)],
            ["DELETE", () => provider.disableDnssec(zone)],
            ["DELETE", () => provider.deleteZone(zone)],
          ];
          for (const [method, step] of steps) {
            proxy.fail(method, fault);
            await expect(step()).rejects.toMatchObject({ name: "DnsUnavailable", reason: "unreachable" });
            await step();
            if (method === "PATCH") expect(contents(await ask(`www.${zone}`, "A"))).toEqual(["192.0.2.1"]);
          }
          expect(await provider.readZone(zone)).toBeNull();
        }
      });
    });
  });
}

describe.skipIf(real.missing)("signed by PowerDNS", { timeout: 60_000 }, () => {
  test("a zone that was just switched to DNSSEC denies only names that are not there", async () => {
    const dns = await startRealPowerDns();
    try {
      const provider = powerDnsProvider({ url: dns.url, apiKey: API_KEY });
      await provider.createZone("signed.example", NAME_SERVERS);
      await provider.changeZone("signed.example", [put("www.signed.example.", "A", ["192.0.2.1"])]);
      await provider.enableDnssec("signed.example");
      const reply = decode(await exchangeUdp(dns, "no.signed.example", "A", 1_232, true));
      const denied = (reply.authorities ?? []).filter((each) => each.type === "NSEC");
      expect(denied.map((each) => each.data.nextDomain)).toContain("www.signed.example");
    } finally {
      await dns.close();
    }
  });
});

describe("settings", () => {
  test("a URL or key that cannot be used is refused at once, without telling the key", () => {
    for (const url of ["ftp://127.0.0.1", "http://user:word@127.0.0.1", "127.0.0.1"])
      expect(() => powerDnsProvider({ url, apiKey: API_KEY })).toThrow();
    expect(() => powerDnsProvider({ url: "http://127.0.0.1", apiKey: "two\nlines" })).toThrow(
      /^PowerDNS' API key must/,
    );
  });
});

function sorted(sets: readonly RecordSet[] | undefined): RecordSet[] {
  return [...(sets ?? [])]
    .map((set) => ({ ...set, contents: set.contents.toSorted() }))
    .sort((a, b) => `${a.name} ${a.type}`.localeCompare(`${b.name} ${b.type}`));
}

/** RFC 4034 5.1.4 with SHA-256, from a DNSKEY's content. */
function dsOf(zone: string, dnskey: string): string {
  const [flags = "", , algorithm = "", key = ""] = dnskey.split(" ");
  const rdata = Buffer.concat([
    Buffer.from([Number(flags) >> 8, Number(flags) & 255, 3, Number(algorithm)]),
    Buffer.from(key, "base64"),
  ]);
  const labels = zone
    .split(".")
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  let tag = 0;
  for (const [index, byte] of rdata.entries()) tag += index % 2 === 0 ? byte << 8 : byte;
  tag = (tag + (tag >> 16)) & 0xffff;
  const digest = createHash("sha256")
    .update(Buffer.concat([...labels, rdata]))
    .digest("hex");
  return `${tag} ${algorithm} 2 ${digest}`;
}

function exchangeUdp(
  dns: RunningDns,
  name: string,
  type: string,
  edns: number | null,
  dnssec = false,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    const deadline = setTimeout(() => {
      socket.close();
      reject(new Error(`${name} ${type}: no answer`));
    }, 10_000);
    socket.on("message", (bytes: Buffer) => {
      clearTimeout(deadline);
      socket.close();
      resolve(bytes);
    });
    const opt = {
      type: "OPT" as const,
      name: ".",
      udpPayloadSize: edns ?? 0,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: dnssec ? 0x8000 : 0,
      flag_do: dnssec,
      options: [],
    };
    const query = encode({
      type: "query",
      id: 1,
      questions: [{ name, type: type as "A" }],
      additionals: edns === null ? [] : [opt],
    });
    socket.send(query, dns.dnsPort, dns.address);
  });
}
