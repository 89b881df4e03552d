import { expect, test } from "vitest";
import { ownNameServers, provesDelegation, verificationRecord } from "./ownership-proof.ts";

test("a TXT record beside the domain proves it", () => {
  expect(verificationRecord("example.com", "abc")).toEqual({
    name: "_kule-verification.example.com",
    type: "TXT",
    value: "kule-verification=abc",
  });
});

test("name servers with a star have the claim's label in its place", () => {
  expect(ownNameServers(["*.ns1.example.net.", "*.NS2.example.net", "ns3.example.net"], "k7f3")).toEqual({
    all: ["k7f3.ns1.example.net", "k7f3.ns2.example.net", "ns3.example.net"],
    proving: ["k7f3.ns1.example.net", "k7f3.ns2.example.net"],
  });
});

test.each([
  [["K7F3.ns1.example.net.", "other.example.org."], true],
  [["k7f3.ns1.example.net"], true],
  [["k9999.ns1.example.net."], false],
  [["ns3.example.net."], false],
  [["ns1.example.net."], false],
  [["k7f3.ns1.example.net.evil.example."], false],
  [[], false],
])("a delegation to %j proves the claim: %s", (observed, isProven) => {
  const own = ownNameServers(["*.ns1.example.net", "ns3.example.net"], "k7f3");
  expect(provesDelegation(observed, own)).toBe(isProven);
});

test("name servers that all claims share prove nothing", () => {
  const shared = ownNameServers(["ns1.example.net", "ns2.example.net"], "k7f3");
  expect(provesDelegation(["ns1.example.net.", "ns2.example.net."], shared)).toBe(false);
});
