import { describe, expect, test } from "vitest";
import { type IpAddress, parseIp } from "../public-ips/addresses.ts";
import { enclosingReverseZone, reverseZoneOf } from "./reverse-zone-of.ts";

const address = (text: string) => parseIp(text) as IpAddress;

describe("the reverse zone of an address", () => {
  test("is one of its block's, and the record's name is relative to it", () => {
    const blocks = ["192.0.2.0/24", "198.51.100.0/22", "2001:db8::/48"];
    expect(reverseZoneOf(address("192.0.2.7"), blocks)).toEqual({ zone: "2.0.192.in-addr.arpa", name: "7" });
    expect(reverseZoneOf(address("198.51.103.9"), blocks)).toEqual({
      zone: "103.51.198.in-addr.arpa",
      name: "9",
    });
    expect(reverseZoneOf(address("2001:db8::1"), blocks)).toEqual({
      zone: "0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
      name: "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0",
    });
  });

  test("is none of this installation's outside of its blocks", () => {
    expect(reverseZoneOf(address("203.0.113.1"), ["192.0.2.0/24", "nonsense"])).toBeNull();
    expect(reverseZoneOf(address("2001:db8::1"), ["192.0.2.0/24"])).toBeNull();
  });
});

test("a name that is a reverse zone of the blocks, or lies in one, is theirs; a parent is not", () => {
  const blocks = ["192.0.2.0/24", "2001:db8::/32"];
  expect(enclosingReverseZone("2.0.192.in-addr.arpa", blocks)).toBe("2.0.192.in-addr.arpa");
  expect(enclosingReverseZone("7.2.0.192.in-addr.arpa", blocks)).toBe("2.0.192.in-addr.arpa");
  expect(enclosingReverseZone("0.0.8.b.d.0.1.0.0.2.ip6.arpa", blocks)).toBe("8.b.d.0.1.0.0.2.ip6.arpa");
  expect(enclosingReverseZone("0.192.in-addr.arpa", blocks)).toBeNull();
  expect(enclosingReverseZone("12.0.192.in-addr.arpa", blocks)).toBeNull();
});
