import { expect, test } from "vitest";
import { isPublicAddress } from "./public-address.ts";

test("only addresses of the Internet are followed", () => {
  for (const address of ["1.1.1.1", "193.0.14.129", "2001:7fd::1", "2620:0:2d0:200::7"])
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
  for (const address of [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.31.255.1",
    "192.168.1.1",
    "198.51.100.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "fe80::1",
    "fd00::1",
    "ff02::1",
    "2001:db8::1",
    "2002:a00:1::",
    "example.com",
    "",
  ])
    expect([address, isPublicAddress(address)]).toEqual([address, false]);
});
