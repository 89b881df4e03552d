import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { referencedServer } from "./address-values.ts";
import { type RecordType, recordTypes } from "./record-types.ts";
import { maxValueLength, readValue } from "./record-value.ts";
import { valueTexts } from "./testing/sample-record-sets.ts";

const reading = (type: RecordType, text: string) => readValue(type, text, "example.com");
const read = (type: RecordType, text: string) => {
  const value = reading(type, text);
  return value.ok ? value.value : value.flaw.rule;
};
const hash = "0123456789ABCDEF".repeat(4);

describe("every type has one canonical text", () => {
  test.each<[RecordType, string, string]>([
    ["A", "192.0.2.1", "192.0.2.1"],
    ["A", " 192.0.2.1 ", "192.0.2.1"],
    ["A", "auto:srv_06ex2v3m8n4k6q1r5s7t9w0y2z", "auto:srv_06ex2v3m8n4k6q1r5s7t9w0y2z"],
    ["AAAA", "2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["AAAA", "64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["AAAA", "auto:srv_1", "auto:srv_1"],
    ["CNAME", "WWW.Example.net", "www.example.net."],
    ["CNAME", "_x.acm-validations.example.net.", "_x.acm-validations.example.net."],
    ["CNAME", "münchen.example.", "xn--mnchen-3ya.example."],
    ["PTR", "mail.example.com", "mail.example.com."],
    ["NS", "ns1.example.net", "ns1.example.net."],
    ["MX", "10  mail.example.com", "10 mail.example.com."],
    ["MX", "0 .", "0 ."],
    ["SRV", "10 5 5060 sip.example.com", "10 5 5060 sip.example.com."],
    ["SRV", "0 0 0 .", "0 0 0 ."],
    ["CAA", '0 ISSUE "letsencrypt.org"', '0 issue "letsencrypt.org"'],
    ["CAA", "128 issuewild letsencrypt.org", '128 issuewild "letsencrypt.org"'],
    ["CAA", '0 issue ";"', '0 issue ";"'],
    ["CAA", '0 issue "ca.example; account=1"', '0 issue "ca.example; account=1"'],
    ["TLSA", `3 1 1 ${hash}`, `3 1 1 ${hash.toLowerCase()}`],
    ["TLSA", `3 1 1 ${hash.slice(0, 32)} ${hash.slice(32)}`, `3 1 1 ${hash.toLowerCase()}`],
    ["TLSA", "0 0 0 30AB", "0 0 0 30ab"],
    ["SSHFP", `4 2 ${hash}`, `4 2 ${hash.toLowerCase()}`],
    ["SSHFP", `1 1 ${hash.slice(0, 40)}`, `1 1 ${hash.slice(0, 40).toLowerCase()}`],
    ["TXT", "v=spf1 -all", '"v=spf1 -all"'],
    ["TXT", '"a"   "b"', '"a" "b"'],
    ["TXT", '"a""b"', '"a" "b"'],
    ["TXT", '""', '""'],
    ["TXT", 'say "hi"', '"say \\"hi\\""'],
    ["TXT", "back\\slash", '"back\\\\slash"'],
    ["TXT", '"back\\\\slash \\"hi\\" \\065"', '"back\\\\slash \\"hi\\" A"'],
    ["TXT", "é\n", '"\\195\\169\\010"'],
    ["TXT", '"é😀"', '"\\195\\169\\240\\159\\152\\128"'],
    ["TXT", " v=1 ", '" v=1 "'],
  ])("%s %j is %s", (type, text, canonical) => {
    expect(read(type, text)).toBe(canonical);
  });

  test("a canonical text read again is the same", () => {
    const any = fc
      .constantFrom(...recordTypes)
      .chain((type) =>
        fc.tuple(fc.constant(type), fc.oneof(valueTexts[type], fc.string({ unit: "binary" }))),
      );
    fc.assert(
      fc.property(any, ([type, text]) => {
        const value = reading(type, text);
        if (!value.ok) expect(value.flaw.fix).not.toBe("");
        else {
          expect(value.value).toMatch(/^[ -~]+$/);
          expect(reading(type, value.value)).toEqual(value);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("values that a type cannot have", () => {
  test.each<[RecordType, string, string]>([
    ["A", "", "address"],
    ["A", "192.0.2", "address"],
    ["A", "192.0.2.256", "address"],
    ["A", "2001:db8::1", "address"],
    ["A", "www.example.com", "address"],
    ["A", "192.0.2.010", "leading_zeros"],
    ["A", "auto:", "server_reference"],
    ["A", "auto:net_1", "server_reference"],
    ["A", "auto:srv_1 192.0.2.1", "server_reference"],
    ["AAAA", "192.0.2.1", "address"],
    ["AAAA", "fe80::1%eth0", "address"],
    ["AAAA", "::ffff:192.0.2.1", "ipv4_mapped"],
    ["CNAME", "", "target_missing"],
    ["CNAME", ".", "target_root"],
    ["CNAME", "@", "target_relative"],
    ["CNAME", "www", "target_relative"],
    ["CNAME", "www.", "target_relative"],
    ["CNAME", "192.0.2.1", "target_address"],
    ["CNAME", "192.0.2.1.", "target_address"],
    ["CNAME", "2001:db8::1", "target_address"],
    ["CNAME", "www.example.123", "target_numeric"],
    ["CNAME", "a..example.com", "empty_label"],
    ["CNAME", `${"a".repeat(64)}.example.com`, "label_too_long"],
    ["CNAME", `${"a.".repeat(130)}com`, "name_too_long"],
    ["CNAME", "*.example.com", "characters"],
    ["CNAME", "a.example.com b.example.com", "characters"],
    ["CNAME", "https://example.com/", "characters"],
    ["NS", "_ns.example.com", "characters"],
    ["MX", "10 _mail.example.com", "characters"],
    ["SRV", "1 1 1 _sip.example.com", "characters"],
    ["MX", "mail.example.com", "value_fields"],
    ["MX", "10 mail example.com", "value_fields"],
    ["MX", "-1 mail.example.com", "number"],
    ["MX", "65536 mail.example.com", "number"],
    ["MX", "10 .", "target_root"],
    ["MX", "10 192.0.2.1", "target_address"],
    ["SRV", "10 5060 sip.example.com", "value_fields"],
    ["SRV", "10 5 99999 sip.example.com", "number"],
    ["CAA", "letsencrypt.org", "value_fields"],
    ["CAA", "1 issue letsencrypt.org", "number"],
    ["CAA", "0 is-sue letsencrypt.org", "caa_tag"],
    ["CAA", '0 issue "a" "b"', "text_quotes"],
    ["CAA", "0 issue lets encrypt", "text_quotes"],
    ["CAA", `0 issue ${"a".repeat(256)}`, "caa_value_too_long"],
    ["TLSA", "3 1 1", "value_fields"],
    ["TLSA", `4 1 1 ${hash}`, "number"],
    ["TLSA", `3 2 1 ${hash}`, "number"],
    ["TLSA", `3 1 3 ${hash}`, "number"],
    ["TLSA", `3 1 2 ${hash}`, "hexadecimal_length"],
    ["TLSA", "3 1 1 xyz", "hexadecimal"],
    ["TLSA", "3 1 0 abc", "hexadecimal"],
    ["SSHFP", `5 2 ${hash}`, "number"],
    ["SSHFP", `4 3 ${hash}`, "number"],
    ["SSHFP", `4 1 ${hash}`, "hexadecimal_length"],
    ["TXT", "", "text_empty"],
    ["TXT", '"open', "text_quotes"],
    ["TXT", '"a" b', "text_quotes"],
    ["TXT", '"\\256"', "text_escape"],
    ["TXT", '"\\1"', "text_escape"],
    ["TXT", '"a\\', "text_quotes"],
    ["TXT", "\ud800", "text_characters"],
    ["TXT", '"\ud800"', "text_characters"],
    ["TXT", '"" '.repeat(101), "text_too_long"],
    ["TXT", "a".repeat(maxValueLength + 1), "value_too_long"],
  ])("%s %j: %s", (type, text, rule) => {
    expect(read(type, text)).toBe(rule);
  });

  test.each<[RecordType, string, string]>([
    ["CNAME", "www", "Enter www.example.com."],
    ["CNAME", "@", "Enter example.com."],
    ["MX", "mail.example.com", "Enter both, such as 10 mail.example.com."],
    ["MX", "10 mail", "Enter mail.example.com."],
    ["A", "192.000.002.010", "Enter 192.0.2.10"],
    ["AAAA", "::ffff:192.0.2.1", "Enter 192.0.2.1 in a record set of type A"],
  ])("%s %j is answered with what was probably meant", (type, text, fix) => {
    expect(reading(type, text)).toMatchObject({ flaw: { fix } });
  });
});

describe("long texts", () => {
  test("are split into strings of 255 bytes", () => {
    expect(read("TXT", "a".repeat(600))).toBe(
      `"${"a".repeat(255)}" "${"a".repeat(255)}" "${"a".repeat(90)}"`,
    );
    expect(read("TXT", "é".repeat(128))).toBe(`"${"\\195\\169".repeat(127)}\\195" "\\169"`);
  });

  test("are counted in bytes", () => {
    expect(read("TXT", "é".repeat(2_048))).toContain("\\195");
    expect(read("TXT", `${"é".repeat(2_048)}a`)).toBe("text_too_long");
  });

  test("that were given in parts keep their parts", () => {
    expect(read("TXT", `"${"a".repeat(300)}" "b"`)).toBe(`"${"a".repeat(255)}" "${"a".repeat(45)}" "b"`);
  });
});

test("a value that follows a server names it", () => {
  expect(referencedServer("auto:srv_1")).toBe("srv_1");
  expect(referencedServer("192.0.2.1")).toBeNull();
});
