import { describe, expect, test } from "vitest";
import { checkNetwork, checkWiring } from "./check-network.ts";
import type { EdgeGateway, EdgeNetwork, EdgeSubnet } from "./edge-network.ts";
import { namespaceOf, networkOfNamespace } from "./names.ts";
import { renderRuleset } from "./render-ruleset.ts";

const app: EdgeSubnet = {
  subnetId: "sub_app",
  tier: "app",
  vlan: 101,
  cidr: "10.0.1.0/24",
  gatewayAddress: "10.0.1.1",
};
const data: EdgeSubnet = {
  subnetId: "sub_data",
  tier: "data",
  vlan: 102,
  cidr: "10.0.2.0/24",
  gatewayAddress: "10.0.2.1",
};
const gateway: EdgeGateway = {
  gatewayId: "gw_1",
  address: "203.0.113.10",
  prefixLength: 24,
  nextHop: "203.0.113.1",
  vlan: null,
  subnetIds: ["sub_app"],
  portForwards: [],
};
const network: EdgeNetwork = { networkId: "net_1", generation: 1, subnets: [app, data], gateway };
const forward = { protocol: "tcp", listenPort: 80, targetAddress: "10.0.1.5", targetPort: 80 } as const;

describe("a state of the edge", () => {
  test("passes when it is sound", () => {
    expect(() => checkNetwork(network)).not.toThrow();
    expect(() => checkNetwork({ ...network, subnets: [], gateway: null })).not.toThrow();
    expect(() =>
      checkNetwork({ ...network, gateway: { ...gateway, portForwards: [forward] } }),
    ).not.toThrow();
  });

  const withGateway = (more: Partial<EdgeGateway>): EdgeNetwork => ({
    ...network,
    gateway: { ...gateway, ...more },
  });
  test.each<[string, EdgeNetwork, string]>([
    ["a way out for data", withGateway({ subnetIds: ["sub_app", "sub_data"] }), "never reaches the internet"],
    [
      "a forward to data",
      withGateway({ portForwards: [{ ...forward, targetAddress: "10.0.2.5" }] }),
      "in no subnet",
    ],
    [
      "a forward out of it",
      withGateway({ portForwards: [{ ...forward, targetAddress: "8.8.8.8" }] }),
      "in no subnet",
    ],
    [
      "one port twice",
      withGateway({ portForwards: [forward, { ...forward, targetPort: 81 }] }),
      "forwarded twice",
    ],
    ["a foreign subnet", withGateway({ subnetIds: ["sub_other"] }), "not in the network"],
    ["a port that is none", withGateway({ portForwards: [{ ...forward, listenPort: 0 }] }), "is no port"],
    ["an address that is none", withGateway({ address: "$(reboot)" }), "for an address"],
    ["a next hop that is none", withGateway({ nextHop: "x; reboot" }), "next hop"],
    ["a prefix that is none", withGateway({ prefixLength: 0 }), "prefix of 0"],
    ["an uplink VLAN that is none", withGateway({ vlan: 4095 }), "VLAN 4095"],
    ["overlapping blocks", { ...network, subnets: [app, { ...data, cidr: "10.0.0.0/16" }] }, "overlap"],
    ["one VLAN twice", { ...network, subnets: [app, { ...data, vlan: 101 }] }, "two subnets"],
    ["a VLAN that is none", { ...network, subnets: [{ ...app, vlan: 0 }, data] }, "VLAN 0"],
    [
      "a router elsewhere",
      { ...network, subnets: [{ ...app, gatewayAddress: "10.0.2.1" }, data] },
      "outside of",
    ],
    ["a block that is none", { ...network, subnets: [{ ...app, cidr: "10.0.1.7/24" }, data] }, "for a block"],
    ["no generation", { ...network, generation: 0 }, "no generation"],
  ])("is refused with %s", (_, state, problem) => {
    expect(() => checkNetwork(state)).toThrow(problem);
  });
});

test("a trunk of bridges has a name that leaves room for its VLANs", () => {
  const uplink = { interface: "eth0" };
  expect(() => checkWiring({ uplink, trunk: { interface: "vmbr123456", mode: "bridge" } })).not.toThrow();
  expect(() => checkWiring({ uplink, trunk: { interface: "vmbr1234567", mode: "vlan" } })).not.toThrow();
  expect(() => checkWiring({ uplink, trunk: { interface: "vmbr1234567", mode: "bridge" } })).toThrow(
    "longer than 10 characters",
  );
});

test("only ids name namespaces", () => {
  expect(namespaceOf("net_01abc")).toBe("kule-net_01abc");
  for (const id of ["", "net_", "net_A", "../net_1", "net_1; reboot", "srv_1"])
    expect(() => namespaceOf(id)).toThrow(RangeError);
  expect(networkOfNamespace("kule-net_01abc")).toBe("net_01abc");
  expect(networkOfNamespace("kule-other")).toBeNull();
  expect(networkOfNamespace("net_01abc")).toBeNull();
});

test("no rule lets a data subnet out or forwards to it", () => {
  const rules = renderRuleset({ ...network, gateway: { ...gateway, portForwards: [forward] } });
  const mentions = (object: unknown, text: string) => JSON.stringify(object).includes(`"${text}"`);
  const passing = rules.filter((object) => /"accept":null|"snat"|"dnat"/.test(JSON.stringify(object)));
  expect(passing.filter((object) => mentions(object, "up") && mentions(object, "s102"))).toEqual([]);
  expect(passing.filter((object) => mentions(object, "up") && mentions(object, "10.0.2.0"))).toEqual([]);
  // The tier is checked at the end, and not by the rules: without a gateway there is no link to leave by.
  expect(rules.some((object) => mentions(object, "s101") && mentions(object, "up"))).toBe(true);
});

test("no rule uses a set, which a kernel may fill after the rules that use it are in force", () => {
  const rules = renderRuleset({ ...network, gateway: { ...gateway, portForwards: [forward] } });
  expect(rules.filter((object) => JSON.stringify(object).includes(`"set"`))).toEqual([]);
});
