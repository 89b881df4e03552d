import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isInside, isReverseName, maxDomainNameLength, parentNames, readDomainName } from "./domain-name.ts";
import { verificationRecord } from "./ownership-proof.ts";

const read = (text: string, mayBeReverse = false) => {
  const reading = readDomainName(text, { mayBeReverse });
  return reading.ok ? reading.name : reading.problem.rule;
};
const label63 = "a".repeat(63);

describe("a domain is read as people type it", () => {
  test.each([
    ["example.com", "example.com"],
    ["Example.COM.", "example.com"],
    ["  example.com\n", "example.com"],
    ["münchen.example", "xn--mnchen-3ya.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["例え。テスト", "xn--r8jz45g.xn--zckzah"],
    ["xn--mnchen-3ya.example", "xn--mnchen-3ya.example"],
    ["_acme-challenge.example.com", "_acme-challenge.example.com"],
    ["1and1.com", "1and1.com"],
    [`${label63}.com`, `${label63}.com`],
  ])("%j is %s", (text, name) => {
    expect(read(text)).toBe(name);
  });
});

describe("what is no domain is refused with its reason", () => {
  test.each([
    ["", "empty_name"],
    [".", "empty_name"],
    ["example..com", "empty_label"],
    [".example.com", "empty_label"],
    ["example.com..", "empty_label"],
    [`${label63}a.com`, "label_too_long"],
    [`${"ü".repeat(60)}.com`, "label_too_long"],
    [`${"a.".repeat(117)}comm`, "name_too_long"],
    ["com", "single_label"],
    ["localhost", "single_label"],
    ["192.0.2.1", "address"],
    ["192.0.2.300", "address"],
    ["192.0.2.0/24", "address"],
    ["１９２.0.2.1", "numeric_last_label"],
    ["2001:db8::1", "address"],
    ["[2001:db8::1]", "address"],
    ["example.123", "numeric_last_label"],
    ["*.example.com", "wildcard"],
    ["ex*mple.com", "characters"],
    ["exam ple.com", "characters"],
    ["-example.com", "characters"],
    ["example-.com", "characters"],
    ["ada@example.com", "characters"],
    ["https://example.com/path", "characters"],
    ["ü/example.com", "characters"],
    ["ü%2ecom", "characters"],
    ["ü\n.com", "characters"],
    ["ü\u0000.com", "characters"],
    ["／example.com", "characters"],
    ["xn--a.ü.com", "characters"],
    ["\ud800.com", "characters"],
    ["2.0.192.in-addr.arpa", "reverse_zone"],
    ["8.b.d.0.1.0.0.2.IP6.ARPA", "reverse_zone"],
  ])("%j: %s", (text, rule) => {
    expect(read(text)).toBe(rule);
  });

  test("an address of a web page is answered with the domain in it", () => {
    expect(readDomainName("https://example.com/path", { mayBeReverse: false })).toMatchObject({
      problem: { field: "name", fix: "Enter example.com" },
    });
  });

  test("operators may have reverse zones", () => {
    expect(read("2.0.192.in-addr.arpa", true)).toBe("2.0.192.in-addr.arpa");
  });
});

test("no text makes the reader throw; what it answers is read again, and has room for its proof", () => {
  const anyName = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.domain(),
    fc.string({ unit: fc.constantFrom("a", "ü", ".", "-", "_", "1", "。", "\u00ad"), maxLength: 300 }),
  );
  fc.assert(
    fc.property(anyName, (text) => {
      const reading = readDomainName(text, { mayBeReverse: true });
      if (!reading.ok) {
        expect(reading.problem.fix).not.toBe("");
        return;
      }
      expect(reading.name).toMatch(/^[a-z0-9_.-]+$/);
      expect(reading.name.length).toBeLessThanOrEqual(maxDomainNameLength);
      expect(readDomainName(reading.name, { mayBeReverse: true })).toEqual(reading);
      expect(verificationRecord(reading.name, "t").name.length).toBeLessThanOrEqual(253);
    }),
  );
});

describe("places of names", () => {
  test("the parents of a name are told from the nearest, without the top-level domain", () => {
    expect(parentNames("a.b.example.com")).toEqual(["b.example.com", "example.com"]);
    expect(parentNames("example.com")).toEqual([]);
  });

  test("a name that only ends with the same letters is not inside", () => {
    expect(isInside("www.example.com", "example.com")).toBe(true);
    expect(isInside("example.com", "example.com")).toBe(true);
    expect(isInside("badexample.com", "example.com")).toBe(false);
    expect(isInside("com", "example.com")).toBe(false);
  });

  test("only names inside of the two trees are reverse names", () => {
    expect(isReverseName("in-addr.arpa")).toBe(true);
    expect(isReverseName("0.ip6.arpa")).toBe(true);
    expect(isReverseName("home.arpa")).toBe(false);
    expect(isReverseName("xin-addr.arpa")).toBe(false);
  });
});
