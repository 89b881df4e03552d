import fc from "fast-check";
import { expect, test } from "vitest";
import { macAddress } from "./mac.ts";

test("an address is made of the region's number, the VM number and the position", () => {
  expect(macAddress(1, 20000, 0)).toBe("0a:01:00:01:38:80");
  expect(macAddress(257, 999_999_999, 3)).toBe("0a:01:ee:6b:27:ff");
});

test("addresses are unicast, locally administered, and unique in a region", () => {
  const part = fc.tuple(fc.integer({ min: 100, max: 999_999_999 }), fc.nat(3));
  fc.assert(
    fc.property(fc.nat(32767), part, part, (region, one, other) => {
      const mac = macAddress(region, ...one);
      expect(mac).toMatch(/^0a(:[0-9a-f]{2}){5}$/);
      expect(mac === macAddress(region, ...other)).toBe(one[0] === other[0] && one[1] === other[1]);
    }),
  );
});
