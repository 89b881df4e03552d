import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Cidr,
  containsAddress,
  containsCidr,
  formatAddress,
  formatCidr,
  isPrivate,
  lastAddressOf,
  networkOf,
  nextFreeBlock,
  overlaps,
  parseAddress,
  parseCidr,
  remainingBlocks,
  sizeOf,
  subnetAddresses,
} from "./cidr.ts";

const cidr = (text: string): Cidr => {
  const parsed = parseCidr(text);
  if (typeof parsed === "string") throw new Error(`${text}: ${parsed}`);
  return parsed;
};

const anyAddress = fc.nat(0xffffffff);
const anyCidr = fc
  .tuple(anyAddress, fc.integer({ min: 0, max: 32 }))
  .map(([address, prefixLength]): Cidr => ({ network: networkOf(address, prefixLength), prefixLength }));
/** Blocks close together, so that overlaps are common. */
const nearCidr = fc.tuple(fc.nat(0xffff), fc.integer({ min: 16, max: 32 })).map(
  ([offset, prefixLength]): Cidr => ({
    network: networkOf(0x0a000000 + offset, prefixLength),
    prefixLength,
  }),
);

describe("reading", () => {
  test.each([
    ["0.0.0.0", 0],
    ["10.0.0.1", 0x0a000001],
    ["255.255.255.255", 0xffffffff],
    ["256.0.0.1", null],
    ["10.0.0", null],
    ["10.0.0.01", null],
    ["10.0.0.1 ", null],
    ["0x0a.0.0.1", null],
    ["", null],
    ["::1", null],
  ])("the address %j is %j", (text, expected) => {
    expect(parseAddress(text)).toBe(expected);
  });

  test.each([
    ["10.0.0.0", "format"],
    ["10.0.0.0/33", "format"],
    ["10.0.0.0/08", "format"],
    ["10.0.0.0/-1", "format"],
    ["10.0.0.0/8/8", "format"],
    ["10.0.0.0/", "format"],
    ["10.0.0.1/24", "host_bits"],
    ["10.1.0.0/8", "host_bits"],
  ])("the block %j is refused: %s", (text, problem) => {
    expect(parseCidr(text)).toBe(problem);
  });

  test("what is written can be read again", () => {
    fc.assert(
      fc.property(anyCidr, anyAddress, (block, address) => {
        expect(parseCidr(formatCidr(block))).toEqual(block);
        expect(parseAddress(formatAddress(address))).toBe(address);
      }),
    );
  });
});

describe("relations", () => {
  test.each([
    ["10.0.0.0/8", "10.200.0.0/16", true],
    ["10.0.0.0/16", "10.1.0.0/16", false],
    ["10.0.0.0/24", "10.0.0.0/24", true],
    ["0.0.0.0/0", "255.255.255.255/32", true],
  ])("%s and %s overlap: %s", (one, other, expected) => {
    expect(overlaps(cidr(one), cidr(other))).toBe(expected);
    expect(overlaps(cidr(other), cidr(one))).toBe(expected);
  });

  test("two blocks overlap exactly when one contains an end of the other", () => {
    fc.assert(
      fc.property(nearCidr, nearCidr, (one, other) => {
        const expected =
          containsAddress(one, other.network) ||
          containsAddress(one, lastAddressOf(other)) ||
          containsAddress(other, one.network);
        expect(overlaps(one, other)).toBe(expected);
      }),
    );
  });

  test("a block contains its first and last address and not the adjacent ones", () => {
    fc.assert(
      fc.property(anyCidr, (block) => {
        expect(containsAddress(block, block.network)).toBe(true);
        expect(containsAddress(block, lastAddressOf(block))).toBe(true);
        expect(containsAddress(block, block.network - 1)).toBe(false);
        expect(containsAddress(block, lastAddressOf(block) + 1)).toBe(false);
      }),
    );
  });

  test.each([
    ["10.0.0.0/8", true],
    ["10.255.0.0/16", true],
    ["172.16.0.0/12", true],
    ["172.32.0.0/16", false],
    ["172.0.0.0/8", false],
    ["192.168.4.0/24", true],
    ["192.0.0.0/8", false],
    ["8.8.8.0/24", false],
    ["100.64.0.0/10", false],
  ])("%s is private: %s", (text, expected) => {
    expect(isPrivate(cidr(text))).toBe(expected);
  });
});

describe("the next free block", () => {
  test.each([
    ["10.0.0.0/8", 16, [], "10.0.0.0/16"],
    ["10.0.0.0/8", 16, ["10.0.0.0/16"], "10.1.0.0/16"],
    ["10.0.0.0/8", 16, ["10.0.0.0/16", "10.2.0.0/16"], "10.1.0.0/16"],
    ["10.0.0.0/8", 16, ["10.0.5.0/24", "10.1.0.0/16"], "10.2.0.0/16"],
    ["10.0.0.0/16", 24, ["10.0.0.0/23"], "10.0.2.0/24"],
    ["10.0.0.0/16", 24, ["192.168.0.0/16"], "10.0.0.0/24"],
    ["10.0.0.0/30", 31, ["10.0.0.0/32", "10.0.0.1/32", "10.0.0.2/32"], null],
    ["10.0.0.0/16", 8, [], null],
    ["10.0.0.0/16", 16, ["10.0.0.0/8"], null],
    ["255.255.255.0/24", 25, ["255.255.255.0/25"], "255.255.255.128/25"],
  ])("in %s, /%i beside %j: %s", (within, prefixLength, taken, expected) => {
    const found = nextFreeBlock(cidr(within), prefixLength, taken.map(cidr));
    expect(found === null ? null : formatCidr(found)).toBe(expected);
  });

  test("is inside, free, and the lowest such block", () => {
    const within = cidr("10.0.0.0/24");
    const inside = fc.tuple(fc.nat(255), fc.integer({ min: 25, max: 32 })).map(
      ([offset, prefixLength]): Cidr => ({
        network: networkOf(within.network + offset, prefixLength),
        prefixLength,
      }),
    );
    fc.assert(
      fc.property(fc.array(inside, { maxLength: 12 }), fc.integer({ min: 25, max: 30 }), (taken, length) => {
        const isFree = (block: Cidr) => !taken.some((other) => overlaps(block, other));
        const size = 2 ** (32 - length);
        const expected = Array.from({ length: sizeOf(within) / size }, (_, index) => ({
          network: within.network + index * size,
          prefixLength: length,
        })).find(isFree);
        const found = nextFreeBlock(within, length, taken);
        expect(found).toEqual(expected ?? null);
        if (found !== null) expect(containsCidr(within, found)).toBe(true);
      }),
    );
  });
});

describe("the addresses of a subnet", () => {
  test("the gateway has the first usable one, servers the rest up to the broadcast address", () => {
    const addresses = subnetAddresses(cidr("10.0.1.0/29"));
    expect(formatAddress(addresses.gateway)).toBe("10.0.1.1");
    expect(formatAddress(addresses.firstServer)).toBe("10.0.1.2");
    expect(formatAddress(addresses.lastServer)).toBe("10.0.1.6");
    expect(formatAddress(addresses.broadcast)).toBe("10.0.1.7");
    expect(addresses.serverCount).toBe(5);
  });

  test("reserved and server addresses together are the whole block", () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 29 }), (prefixLength) => {
        const block: Cidr = { network: networkOf(0x0a000000, prefixLength), prefixLength };
        const { firstServer, lastServer, serverCount } = subnetAddresses(block);
        expect(lastServer - firstServer + 1).toBe(serverCount);
        expect(serverCount + 3).toBe(sizeOf(block));
      }),
    );
  });
});

describe("the addresses next to blocks", () => {
  const beside = (...left: string[]) => remainingBlocks(left.map(cidr)).map(formatCidr);

  test("is everything in two halves when there are none, so that no default route is needed", () => {
    expect(beside()).toEqual(["0.0.0.0/1", "128.0.0.0/1"]);
  });

  test("of a network is as many blocks as its prefix is long", () => {
    expect(beside("10.0.0.0/8")).toEqual([
      ...["0.0.0.0/5", "8.0.0.0/7", "11.0.0.0/8", "12.0.0.0/6", "16.0.0.0/4", "32.0.0.0/3", "64.0.0.0/2"],
      "128.0.0.0/1",
    ]);
    expect(beside("192.168.7.16/28")).toHaveLength(28);
  });

  test("has each address once that is in none of them, and no other", () => {
    fc.assert(
      fc.property(fc.array(anyCidr, { maxLength: 4 }), anyAddress, (left, address) => {
        const isIn = (blocks: readonly Cidr[]) =>
          blocks.filter((each) => containsAddress(each, address)).length;
        expect(isIn(remainingBlocks(left))).toBe(isIn(left) > 0 ? 0 : 1);
      }),
    );
  });
});
