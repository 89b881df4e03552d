import { expect, test } from "vitest";
import { firewallRules } from "./firewall-rules.ts";

const rule = (more: Record<string, unknown>) => ({ type: "in", action: "ACCEPT", enable: "1", ...more });
const entry = (cidr: string, nomatch = false) => ({ cidr, nomatch, comment: null });

/** The rules of a VM with every list that a rule can have. */
const rules = firewallRules(
  [
    {
      vmid: 100,
      index: 0,
      mac: "bc:24:11:00:00:01",
      firewall: {
        options: { enable: "1", policy_in: "DROP" },
        rules: [
          rule({ source: "10.0.0.5,10.0.0.7-10.0.0.9,2001:db8::/64", proto: "tcp", dport: "22,80:90" }),
          rule({ source: "+friends", proto: "udp", sport: "53,123" }),
        ] as never,
        ipsets: {
          friends: {
            comment: null,
            entries: [entry("10.1.0.0/16"), entry("10.2.0.1"), entry("10.1.9.9", true)],
          },
          "ipfilter-net0": { comment: null, entries: [entry("10.0.0.1"), entry("10.0.3.0/24")] },
        },
      },
    },
  ],
  true,
);
const linesOf = (text: string) => rules.split("\n").filter((line) => line.includes(text));

test("use no set, which a kernel may fill after the rules that use it are in force", () => {
  expect(rules).not.toMatch(/\{.+\}/);
});

test("allow in what a rule names, in all combinations", () => {
  expect(linesOf("tcp dport").map((line) => line.trim())).toEqual([
    "meta nfproto ipv4 ip saddr 10.0.0.5 meta l4proto tcp tcp dport 22 accept",
    "meta nfproto ipv4 ip saddr 10.0.0.5 meta l4proto tcp tcp dport 80-90 accept",
    "meta nfproto ipv4 ip saddr 10.0.0.7-10.0.0.9 meta l4proto tcp tcp dport 22 accept",
    "meta nfproto ipv4 ip saddr 10.0.0.7-10.0.0.9 meta l4proto tcp tcp dport 80-90 accept",
    "meta nfproto ipv6 ip6 saddr 2001:db8::/64 meta l4proto tcp tcp dport 22 accept",
    "meta nfproto ipv6 ip6 saddr 2001:db8::/64 meta l4proto tcp tcp dport 80-90 accept",
  ]);
  expect(linesOf("udp sport 123").map((line) => line.trim())).toEqual([
    "meta nfproto ipv4 ip saddr 10.1.0.0/16 ip saddr != 10.1.9.9 meta l4proto udp udp sport 123 accept",
    "meta nfproto ipv4 ip saddr 10.2.0.1 ip saddr != 10.1.9.9 meta l4proto udp udp sport 123 accept",
  ]);
});

test("allow a guest its own addresses, and none but those", () => {
  expect(linesOf("ip saddr !=").map((line) => line.trim())).toContain(
    "ip saddr != 10.0.0.1 ip saddr != 10.0.3.0/24 drop",
  );
  expect(linesOf("arp saddr").map((line) => line.trim())).toEqual([
    'iifname "tap100i0" ether type arp arp saddr ip != 10.0.0.1 arp saddr ip != 10.0.3.0/24 drop',
  ]);
});
