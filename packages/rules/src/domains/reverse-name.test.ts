import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type IpAddress, parseIp, parseIpBlock } from "../public-ips/addresses.ts";
import { isInside, isReverseName, readDomainName } from "./domain-name.ts";
import { pointerName, reverseNameRange, reverseZones } from "./reverse-name.ts";

const address = (text: string): IpAddress => {
  const parsed = parseIp(text);
  if (parsed === null) throw new Error(text);
  return parsed;
};
const zones = (block: string) => {
  const answer = reverseZones(block);
  return answer.ok ? answer.zones : answer.flaw.rule;
};

test.each([
  ["192.0.2.10", "10.2.0.192.in-addr.arpa"],
  ["2001:db8::567:89ab", "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"],
])("the reverse name of %s is %s", (text, name) => {
  expect(pointerName(address(text))).toBe(name);
});

describe("the reverse zones of a block", () => {
  test.each([
    ["192.0.2.0/24", ["2.0.192.in-addr.arpa"]],
    ["172.16.0.0/16", ["16.172.in-addr.arpa"]],
    ["10.0.0.0/8", ["10.in-addr.arpa"]],
    [
      "192.0.0.0/22",
      ["0.0.192.in-addr.arpa", "1.0.192.in-addr.arpa", "2.0.192.in-addr.arpa", "3.0.192.in-addr.arpa"],
    ],
    ["2001:db8::/32", ["8.b.d.0.1.0.0.2.ip6.arpa"]],
    ["2001:db8::/31", ["8.b.d.0.1.0.0.2.ip6.arpa", "9.b.d.0.1.0.0.2.ip6.arpa"]],
    ["2001:db8::/124", ["0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"]],
  ])("of %s", (block, expected) => {
    expect(zones(block)).toEqual(expected);
  });

  test.each([
    ["192.0.2.0/25", "block_too_small"],
    ["192.0.2.1/32", "block_too_small"],
    ["2001:db8::/125", "block_too_small"],
    ["0.0.0.0/0", "block_too_large"],
    ["192.0.2.1/24", "block"],
    ["192.0.2.0", "block"],
    ["", "block"],
  ])("of %s: %s", (block, rule) => {
    expect(zones(block)).toBe(rule);
  });

  test("delegations of single addresses are refused by their name", () => {
    expect(reverseZones("192.0.2.0/26")).toMatchObject({
      flaw: { message: expect.stringContaining("RFC 2317") },
    });
  });

  test("every address of a block has its name in exactly one of them, and all are zones for operators", () => {
    const blocks = fc.oneof(
      fc.tuple(fc.constant("10.0.0.0"), fc.integer({ min: 8, max: 24 })),
      fc.tuple(fc.constant("2001:db8::"), fc.integer({ min: 32, max: 124 })),
    );
    fc.assert(
      fc.property(blocks, fc.bigInt({ min: 0n, max: (1n << 96n) - 1n }), ([first, prefix], seed) => {
        const range = parseIpBlock(`${first}/${prefix}`);
        const all = zones(`${first}/${prefix}`);
        if (range === null || typeof all === "string") throw new Error("is no block");
        const value = range.first + (seed % (range.last - range.first + 1n));
        const name = pointerName({ version: range.version, value });
        const [zone, ...others] = all.filter((each) => isInside(name, each));
        expect(others).toEqual([]);
        expect(reverseNameRange(name)).toEqual({ version: range.version, first: value, last: value });
        const named = reverseNameRange(zone ?? "");
        expect(named !== null && named.first <= value && value <= named.last).toBe(true);
        for (const zone of all) {
          expect(isReverseName(zone)).toBe(true);
          expect(readDomainName(zone, { mayBeReverse: true })).toEqual({ ok: true, name: zone });
        }
      }),
    );
  });
});

test.each([
  ["2.0.192.in-addr.arpa", "192.0.2.0/24"],
  ["10.in-addr.arpa", "10.0.0.0/8"],
  ["7.2.0.192.in-addr.arpa", "192.0.2.7/32"],
  ["8.b.d.0.1.0.0.2.ip6.arpa", "2001:db8::/32"],
])("%s names the addresses of %s", (name, block) => {
  expect(reverseNameRange(name)).toEqual(parseIpBlock(block));
});

test.each([
  "in-addr.arpa",
  "example.org",
  "1.7.2.0.192.in-addr.arpa",
  "256.2.0.192.in-addr.arpa",
  "07.2.0.192.in-addr.arpa",
  "-1.2.0.192.in-addr.arpa",
  "a.2.0.192.in-addr.arpa",
  "7..0.192.in-addr.arpa",
  "*.2.0.192.in-addr.arpa",
  "B.d.0.1.0.0.2.ip6.arpa",
  "10.1.0.0.2.ip6.arpa",
])("%s names no address", (name) => {
  expect(reverseNameRange(name)).toBeNull();
});
