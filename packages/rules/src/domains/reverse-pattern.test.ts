import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type IpAddress, type IpVersion, parseIp } from "../public-ips/addresses.ts";
import { nameFlaw } from "./name-labels.ts";
import { readReversePattern, reverseNameOf } from "./reverse-pattern.ts";

const read = (text: string, version: IpVersion = 4) => {
  const reading = readReversePattern(text, version);
  return reading.ok ? reading.value : reading.flaw.rule;
};
const address = (text: string) => parseIp(text) as IpAddress;
/** A parent of that length, of labels that are not too long. */
const parentOf = (length: number) =>
  `${"a".repeat(49)}.`
    .repeat(10)
    .slice(0, length - 1)
    .concat("z");

describe("the pattern of a pool's reverse names", () => {
  test.each([
    ["*.static.example.net", "*.static.example.net"],
    [" *.Static.Example.NET. ", "*.static.example.net"],
    ["*.münchen.example", "*.xn--mnchen-3ya.example"],
    ["*.lan", "*.lan"],
  ])("%j is read as %s", (text, pattern) => {
    expect(read(text)).toBe(pattern);
  });

  test.each([
    ["", "star"],
    ["static.example.net", "star"],
    ["*", "star"],
    ["ip-*.example.net", "star"],
    ["*-ip.example.net", "star"],
    ["host.*.example.net", "star"],
    ["*.*.example.net", "star"],
    ["**.example.net", "star"],
    ["*.", "empty_label"],
    ["*..example.net", "empty_label"],
    ["*.example.net..", "empty_label"],
    [`*.${"a".repeat(64)}.net`, "label_too_long"],
    ["*.exa mple.net", "characters"],
    ["*.-example.net", "characters"],
    ["*.under_score.net", "characters"],
    ["*.exa\u0000mple.net", "characters"],
    ["*.example.1", "numeric_last_label"],
  ])("%j is refused by the rule %s", (text, rule) => {
    expect(read(text)).toBe(rule);
  });

  test.each([
    [4, 253 - 16],
    [6, 253 - 40],
  ] as const)("of IPv%i has at most %i characters behind its star", (version, most) => {
    expect(read(`*.${parentOf(most)}`, version)).toBe(`*.${parentOf(most)}`);
    expect(read(`*.${parentOf(most + 1)}`, version)).toBe("name_too_long");
    const highest = version === 4 ? "255.255.255.255" : "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    expect(reverseNameOf(`*.${parentOf(most)}`, address(highest))).toHaveLength(253);
  });
});

test.each([
  ["203.0.113.7", "203-0-113-7.static.example.net"],
  ["2001:db8::7", "2001-db8-0-0-0-0-0-7.static.example.net"],
  ["::", "0-0-0-0-0-0-0-0.static.example.net"],
])("the name of %s is %s", (text, name) => {
  expect(reverseNameOf("*.static.example.net", address(text))).toBe(name);
});

test("every address of a pattern that is taken has a name of its own, which is one of a host", () => {
  const addresses = fc.oneof(
    fc.record({ version: fc.constant(4 as const), value: fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }) }),
    fc.record({ version: fc.constant(6 as const), value: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }) }),
  );
  fc.assert(
    fc.property(addresses, addresses, (one, other) => {
      const name = reverseNameOf("*.example.net", one);
      expect(nameFlaw(name, "host")).toBeNull();
      const isSame = one.version === other.version && one.value === other.value;
      expect(reverseNameOf("*.example.net", other) === name).toBe(isSame);
    }),
  );
});
