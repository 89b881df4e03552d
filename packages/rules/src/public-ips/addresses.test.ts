import fc from "fast-check";
import { expect, it } from "vitest";
import {
  formatIp,
  gatewayProblem,
  type IpVersion,
  isSpecial,
  networkRange,
  parseIp,
  parseIpBlock,
  prefixProblem,
  reservedAddresses,
} from "./addresses.ts";

const ip = (text: string) => {
  const address = parseIp(text);
  if (address === null) throw new Error(`${text} is no address`);
  return address;
};

it.each([
  ["203.0.113.10", "203.0.113.10"],
  ["2001:DB8::1", "2001:db8::1"],
  ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
  ["0:0:0:0:0:0:0:0", "::"],
  ["::ffff:192.0.2.1", "::ffff:c000:201"],
  ["fe80:0:0:0:1:2:3:4", "fe80::1:2:3:4"],
  ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
])("%s is the address %s", (text, usual) => {
  expect(formatIp(ip(text))).toBe(usual);
});

it.each([
  "", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.4/24", ":", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::",
  "g::1", "1:2:3:4:5:6:7", "::1.2.3", "1.2.3.4::", " 1.2.3.4", "::1%eth0",
])("%j is no address", (text) => {
  expect(parseIp(text)).toBeNull();
}); // biome-ignore format: a list of words

it("every address can be parsed from its text", () => {
  const address = fc.oneof(
    fc.record({ version: fc.constant<IpVersion>(4), value: fc.bigInt(0n, 2n ** 32n - 1n) }),
    fc.record({ version: fc.constant<IpVersion>(6), value: fc.bigInt(0n, 2n ** 128n - 1n) }),
    // Runs of zeros, where the short form has its corners.
    fc.record({
      version: fc.constant<IpVersion>(6),
      value: fc
        .array(fc.constantFrom(0n, 1n, 0xffffn), { minLength: 8, maxLength: 8 })
        .map((groups) => groups.reduce<bigint>((value, group) => value * 65_536n + group, 0n)),
    }),
  );
  fc.assert(
    fc.property(address, (one) => {
      expect(parseIp(formatIp(one))).toEqual(one);
    }),
  );
});

it.each([
  ["203.0.113.0/25", "203.0.113.0", "203.0.113.127"],
  ["2001:db8::/120", "2001:db8::", "2001:db8::ff"],
  ["198.51.100.7/32", "198.51.100.7", "198.51.100.7"],
])("the block %s is from %s to %s", (block, first, last) => {
  expect(parseIpBlock(block)).toMatchObject({ first: ip(first).value, last: ip(last).value });
});

it.each([
  "203.0.113.1/25",
  "203.0.113.0",
  "203.0.113.0/33",
  "203.0.113.0/025",
  "2001:db8::1/64",
  "2001:db8::/129",
])("%s is no block", (block) => {
  expect(parseIpBlock(block)).toBeNull();
});

it.each([
  ["203.0.113.1", 24, ["203.0.113.0", "203.0.113.1", "203.0.113.255"]],
  ["203.0.113.254", 24, ["203.0.113.0", "203.0.113.254", "203.0.113.255"]],
  ["203.0.113.0", 31, ["203.0.113.0"]],
  ["203.0.113.5", 30, ["203.0.113.4", "203.0.113.5", "203.0.113.7"]],
  ["2001:db8::1", 64, ["2001:db8::", "2001:db8::1"]],
  ["2001:db8::", 64, ["2001:db8::"]],
] as const)("with the gateway %s/%i %j are never assigned", (gateway, prefixLength, reserved) => {
  const network = { gateway: ip(gateway), prefixLength };
  expect(prefixProblem(network)).toBeNull();
  expect(
    reservedAddresses(network).map((value) => formatIp({ version: network.gateway.version, value })),
  ).toEqual(reserved);
});

it("reserved addresses are in the network, for every gateway and prefix", () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 32n - 1n), fc.integer({ min: 1, max: 31 }), (value, prefixLength) => {
      const network = { gateway: { version: 4, value } as const, prefixLength };
      const { first, last } = networkRange(network);
      const reserved = reservedAddresses(network);
      expect(reserved).toContain(value);
      expect(reserved.every((each) => each >= first && each <= last)).toBe(true);
      if (prefixLength < 31) expect(reserved).toEqual(expect.arrayContaining([first, last]));
    }),
  );
});

it("a gateway alone in its network is refused", () => {
  expect(prefixProblem({ gateway: ip("203.0.113.1"), prefixLength: 32 })).toMatch("from 8 to 31");
  expect(prefixProblem({ gateway: ip("2001:db8::1"), prefixLength: 128 })).toMatch("from 8 to 127");
});

it.each([
  ["203.0.113.0", 24, "network's own"],
  ["203.0.113.255", 24, "broadcast"],
  ["203.0.113.4", 30, "network's own"],
  ["203.0.113.7", 30, "broadcast"],
] as const)("%s/%i is no gateway", (gateway, prefixLength, why) => {
  expect(gatewayProblem({ gateway: ip(gateway), prefixLength })).toMatch(why);
});

it.each([
  ["203.0.113.254", 24],
  ["203.0.113.0", 31],
  ["203.0.113.1", 31],
  ["2001:db8::", 64],
] as const)("%s/%i is a gateway", (gateway, prefixLength) => {
  expect(gatewayProblem({ gateway: ip(gateway), prefixLength })).toBeNull();
});

it.each([
  "0.0.0.0",
  "127.0.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "169.254.1.1",
  "::",
  "::1",
  "ff02::1",
  "fe80::1",
  "::ffff:203.0.113.1",
  "::203.0.113.1",
])("%s is not a public address", (text) => {
  expect(isSpecial(ip(text))).toBe(true);
});

it.each(["203.0.113.1", "10.0.0.1", "223.255.255.254", "2001:db8::1", "fd00::1"])(
  "%s is a public address",
  (text) => {
    expect(isSpecial(ip(text))).toBe(false);
  },
);
