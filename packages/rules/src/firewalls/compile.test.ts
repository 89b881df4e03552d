import { expect, test } from "vitest";
import { parseIp, parseIpBlock } from "../public-ips/addresses.ts";
import { compileFilter, type Side, type Surroundings } from "./compile.ts";
import type { FilteredServer, Firewall, Peer } from "./firewall.ts";
import { decidePacket } from "./verdict.ts";

const addressOf = (text: string) => {
  const found = parseIp(text);
  if (found === null) throw new Error(text);
  return found;
};
const range = (text: string) => {
  const found = parseIpBlock(text);
  if (found === null) throw new Error(text);
  return found;
};

const server = (id: string, address: string, more: Partial<FilteredServer> = {}): FilteredServer => ({
  id,
  organisationId: "org_a",
  region: "ist1",
  labels: {},
  interfaces: [{ subnetId: "sub_1", address }],
  publicAddresses: [],
  ...more,
});
const web = server("srv_web", "10.0.1.10", { publicAddresses: ["203.0.113.10"] });
const peer = server("srv_peer", "10.0.1.11", { labels: { role: "peer" }, publicAddresses: ["2001:db8::11"] });

const around = (peers: readonly Peer[], more: Partial<Firewall["rules"][number]> = {}): Surroundings => ({
  firewalls: [
    {
      id: "fw_1",
      organisationId: "org_a",
      region: "ist1",
      targets: [{ kind: "server", serverId: web.id }],
      rules: [
        {
          id: "fwr_1",
          direction: "in",
          action: "allow",
          protocol: "tcp",
          ports: [],
          peers,
          priority: 1000,
          isEnabled: true,
          ...more,
        },
      ],
    },
  ],
  servers: [web, peer],
  subnets: [{ id: "sub_1", networkId: "net_1", block: range("10.0.1.0/24") }],
});
const allowed = (surroundings: Surroundings, side: Side, from: string, protocol: "tcp" | "icmp" = "tcp") =>
  decidePacket(compileFilter(web, surroundings), {
    direction: "in",
    side,
    peer: addressOf(from),
    protocol,
    port: protocol === "tcp" ? 22 : null,
  }).isAllowed;

test("a server named by its labels stands for its inside address inside, and its public one anywhere", () => {
  const wanted = around([{ kind: "labels", terms: [{ operator: "equals", key: "role", value: "peer" }] }]);
  expect(allowed(wanted, "private", "10.0.1.11")).toBe(true);
  expect(allowed(wanted, "public", "10.0.1.11")).toBe(false);
  expect(allowed(wanted, "public", "2001:db8::11")).toBe(true);
  expect(allowed(wanted, "private", "10.0.1.12")).toBe(false);
});

test("a subnet stands for inside addresses only, even if the same address exists outside", () => {
  const wanted = around([{ kind: "subnet", subnetId: "sub_1" }]);
  expect(allowed(wanted, "private", "10.0.1.99")).toBe(true);
  expect(allowed(wanted, "public", "10.0.1.99")).toBe(false);
});

test("ICMP is of one version, and anything is everything", () => {
  expect(allowed(around([{ kind: "any" }], { protocol: "icmp" }), "public", "198.51.100.7", "icmp")).toBe(
    true,
  );
  expect(allowed(around([{ kind: "any" }], { protocol: "icmp" }), "public", "2001:db8::1", "icmp")).toBe(
    false,
  );
  expect(allowed(around([{ kind: "any" }], { protocol: "icmpv6" }), "public", "2001:db8::1", "icmp")).toBe(
    true,
  );
  expect(allowed(around([{ kind: "any" }], { protocol: "any" }), "public", "2001:db8::1", "icmp")).toBe(true);
});

test("peers without addresses make a rule about no address, not about any", () => {
  const wanted = around([{ kind: "labels", terms: [{ operator: "exists", key: "none" }] }]);
  expect(compileFilter(web, wanted)).toEqual({ isFiltered: true, rules: [] });
  expect(allowed(wanted, "private", "10.0.1.11")).toBe(false);
});

test("the same addresses are the same rule, in whatever order they were named", () => {
  const blocks = ["10.0.1.0/24", "192.0.2.0/24", "2001:db8::/32"].map(
    (text): Peer => ({ kind: "block", block: range(text) }),
  );
  const one = compileFilter(web, around([...blocks, ...blocks]));
  expect(one).toEqual(compileFilter(web, around(blocks.toReversed())));
  expect(one.rules[0]?.blocks).toHaveLength(3);
});
