import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FilteredServer, Firewall, FirewallRule } from "../firewalls/firewall.ts";
import { parsePorts } from "../firewalls/ports.ts";
import type { IntentGateway, NetworkIntent } from "./intent.ts";
import { reach } from "./reachability.ts";
import {
  anyIntent,
  anyProbe,
  anyServerId,
  block,
  outsideAddress,
  subnetOf,
} from "./testing/sample-intents.ts";
import type { Endpoint, Question, Verdict } from "./verdict.ts";

const app = subnetOf("net_a1", 1, "app");
const mgmt = subnetOf("net_a1", 2, "mgmt");
const data = subnetOf("net_a1", 3, "data");
const other = subnetOf("net_b1", 1, "app");

const server = (id: string, subnet: typeof app, last: number, more: Partial<FilteredServer> = {}) => ({
  id,
  organisationId: subnet.networkId === "net_b1" ? "org_b" : "org_a",
  region: "ist1",
  labels: {},
  interfaces: [{ subnetId: subnet.id, address: subnet.cidr.replace("0/24", String(last)) }],
  publicAddresses: [],
  ...more,
});
const web = server("srv_web", app, 10);
const web2 = server("srv_web2", app, 11);
const ops = server("srv_ops", mgmt, 10);
const db = server("srv_db", data, 10);
const foreign = server("srv_foreign", other, 20);

const gateway: IntentGateway = {
  id: "gw_1",
  networkId: "net_a1",
  address: "203.0.113.1",
  subnetIds: [app.id],
  portForwards: [
    { id: "pf_1", protocol: "tcp", listenPort: 8443, targetAddress: "10.0.1.10", targetPort: 443 },
  ],
};
const intent = (more: Partial<NetworkIntent> = {}): NetworkIntent => ({
  subnets: [app, mgmt, data, other],
  gateways: [],
  servers: [web, web2, ops, db, foreign],
  firewalls: [],
  ...more,
});
const rule = (id: string, more: Partial<FirewallRule> = {}): FirewallRule => ({
  id,
  direction: "in",
  action: "allow",
  protocol: "tcp",
  ports: [],
  peers: [{ kind: "any" }],
  priority: 1000,
  isEnabled: true,
  ...more,
});
const firewall = (id: string, rules: FirewallRule[], targets: Firewall["targets"]): Firewall => ({
  id,
  organisationId: "org_a",
  region: "ist1",
  rules,
  targets,
});
const at = (each: { readonly id: string }): Endpoint => ({ kind: "server", serverId: each.id });
const to = (address: string): Endpoint => ({ kind: "address", address });
const tcp = (from: Endpoint, target: Endpoint, port = 22): Question => ({
  from,
  to: target,
  protocol: "tcp",
  port,
});
const ping = (from: Endpoint, target: Endpoint): Question => ({
  from,
  to: target,
  protocol: "icmp",
  port: null,
});
const said = ({ isAllowed, decision }: Verdict) => [isAllowed ? "yes" : "no", decision];

describe("inside", () => {
  test.each([
    ["its own subnet", at(web2), ["yes", { by: "subnet", subnetId: app.id }]],
    ["another subnet", at(ops), ["yes", { by: "network", networkId: "net_a1" }]],
    ["a data subnet", at(db), ["yes", { by: "network", networkId: "net_a1" }]],
    ["another's network", at(foreign), ["no", { by: "isolation", networkId: "net_b1" }]],
    ["an address there", to("10.0.1.20"), ["no", { by: "nobody", address: "10.0.1.20" }]],
    ["itself", at(web), ["yes", { by: "itself", serverId: "srv_web" }]],
    ["its router's other service", to("10.0.1.1"), ["no", { by: "platform", rule: "router_echo" }]],
    ["the internet", to(outsideAddress), ["no", { by: "gateway", gatewayId: null, subnetId: app.id }]],
    ["somebody's inside", to("192.168.7.7"), ["no", { by: "isolation", networkId: "net_a1" }]],
    ["an address of the link", to("fe80::801:ff:fe00:1"), ["no", { by: "platform", rule: "link_addresses" }]],
    ["IPv6", to("2001:db8::1"), ["no", { by: "platform", rule: "no_ipv6" }]],
  ] as const)("a server reaches %s: %#", (_, target, expected) => {
    expect(said(reach(intent(), tcp(at(web), target)))).toEqual(expected);
  });

  test("a router answers a ping in its own subnet alone", () => {
    expect(reach(intent(), ping(at(web), to("10.0.1.1"))).isAllowed).toBe(true);
    expect(reach(intent(), ping(at(web), to("10.0.2.1"))).isAllowed).toBe(false);
  });

  test("a false source is dropped", () => {
    const lie = { ...tcp(at(web), at(web2)), source: "10.0.1.99" };
    expect(said(reach(intent(), lie))).toEqual(["no", { by: "platform", rule: "own_addresses" }]);
    expect(reach(intent(), { ...lie, source: "10.0.1.10" }).isAllowed).toBe(true);
  });
});

describe("a gateway", () => {
  const withGateway = intent({ gateways: [gateway] });

  test.each([
    ["a subnet that it serves", at(web), ["yes", { by: "gateway", gatewayId: "gw_1", subnetId: app.id }]],
    ["one that it does not", at(ops), ["no", { by: "gateway", gatewayId: "gw_1", subnetId: mgmt.id }]],
    ["a data subnet", at(db), ["no", { by: "tier", subnetId: data.id }]],
    ["another's network", at(foreign), ["no", { by: "gateway", gatewayId: null, subnetId: other.id }]],
  ] as const)("allows out %s: %#", (_, from, expected) => {
    expect(said(reach(withGateway, tcp(from, to(outsideAddress), 443)))).toEqual(expected);
  });

  test("forwards the configured ports, and answers a ping", () => {
    const from = to(outsideAddress);
    const forwarded = reach(withGateway, tcp(from, to("203.0.113.1"), 8443));
    expect(said(forwarded)).toEqual([
      "yes",
      { by: "port_forward", gatewayId: "gw_1", portForwardId: "pf_1" },
    ]);
    expect(reach(withGateway, tcp(from, to("203.0.113.1"), 443)).isAllowed).toBe(false);
    expect(reach(withGateway, ping(from, to("203.0.113.1"))).isAllowed).toBe(true);
    expect(reach(withGateway, tcp(from, at(web), 443)).decision).toEqual({
      by: "isolation",
      networkId: null,
    });
  });

  test("its own address leads nowhere from inside", () => {
    expect(said(reach(withGateway, tcp(at(web), to("203.0.113.1"), 8443)))).toEqual([
      "no",
      { by: "gateway", gatewayId: "gw_1", subnetId: null },
    ]);
  });

  test("evaluates the firewall of the server that it forwards to, with the port there", () => {
    const filtered = (ports: string) =>
      intent({
        gateways: [gateway],
        firewalls: [
          firewall(
            "fw_1",
            [rule("fwr_1", { ports: [parsePorts(ports) ?? { first: 0, last: 0 }] })],
            [{ kind: "server", serverId: web.id }],
          ),
        ],
      });
    const question = tcp(to(outsideAddress), to("203.0.113.1"), 8443);
    expect(said(reach(filtered("443"), question))).toEqual([
      "yes",
      { by: "firewall_rule", firewallId: "fw_1", ruleId: "fwr_1" },
    ]);
    expect(said(reach(filtered("8443"), question))).toEqual([
      "no",
      { by: "firewall_default", direction: "in" },
    ]);
  });
});

describe("a public address", () => {
  const outside = { ...web, publicAddresses: ["203.0.113.50", "2001:db8:1::50"] };
  const servers = [outside, web2, ops, db, foreign];

  test("leads out and in without a gateway", () => {
    const wanted = intent({ servers });
    expect(reach(wanted, tcp(at(outside), to(outsideAddress))).decision).toEqual({
      by: "public_address",
      address: "203.0.113.50",
    });
    expect(reach(wanted, tcp(at(outside), to("2001:db8::7"))).isAllowed).toBe(true);
    expect(reach(wanted, tcp(to(outsideAddress), at(outside))).isAllowed).toBe(true);
    expect(reach(wanted, tcp(to(outsideAddress), at(web2))).isAllowed).toBe(false);
  });

  test("of a load balancer's two servers leads to them by their firewalls, and is no way out of theirs", () => {
    const sharedAddresses = ["203.0.113.60", "10.0.1.40"];
    const pair = [web, web2].map((each) => ({ ...each, sharedAddresses }));
    const wanted = intent({
      servers: [...pair, ops, db, foreign],
      gateways: [gateway],
      firewalls: [firewall("fw_1", [rule("fwr_1")], [{ kind: "subnet", subnetId: app.id }])],
    });
    const byRule = ["yes", { by: "firewall_rule", firewallId: "fw_1", ruleId: "fwr_1" }];
    expect(said(reach(wanted, tcp(to(outsideAddress), to("203.0.113.60"))))).toEqual(byRule);
    expect(said(reach(wanted, tcp(at(ops), to("10.0.1.40"))))).toEqual(byRule);
    expect(reach(intent({ servers: pair }), tcp(at(web2), to(outsideAddress))).isAllowed).toBe(false);
    expect(reach(wanted, tcp(at(web2), to(outsideAddress))).decision).toMatchObject({ by: "gateway" });
  });

  test("leaves the other subnets of the network and their paths unchanged", () => {
    const wanted = intent({ servers });
    const network = ["yes", { by: "network", networkId: "net_a1" }];
    expect(reach(wanted, tcp(at(outside), at(web2))).isAllowed).toBe(true);
    expect(said(reach(wanted, tcp(at(outside), at(ops))))).toEqual(network);
    expect(said(reach(wanted, tcp(at(ops), at(outside))))).toEqual(network);
    expect(said(reach(wanted, tcp(at(outside), at(db))))).toEqual(network);
  });

  test("sends its answers to packets from the gateway out by the wrong interface, so they do not arrive", () => {
    const wanted = intent({ servers, gateways: [gateway] });
    const route = ["no", { by: "route", serverId: "srv_web" }];
    expect(said(reach(wanted, tcp(to(outsideAddress), to("203.0.113.1"), 8443)))).toEqual(route);
    expect(said(reach(wanted, tcp(at(outside), to("10.99.0.1"))))).toEqual(route);
  });

  test("is reached from another network through its gateway, as from anywhere", () => {
    const elsewhere = { ...gateway, id: "gw_2", networkId: "net_b1", address: "203.0.113.2" };
    const wanted = intent({ servers, gateways: [{ ...elsewhere, subnetIds: [other.id], portForwards: [] }] });
    expect(reach(wanted, tcp(at(foreign), to("203.0.113.50"))).isAllowed).toBe(true);
    expect(reach(intent({ servers }), tcp(at(foreign), to("203.0.113.50"))).isAllowed).toBe(false);
  });
});

describe("firewalls", () => {
  const onWeb: Firewall["targets"] = [{ kind: "server", serverId: web.id }];
  const verdict = (rules: FirewallRule[], from: Endpoint = at(web2), port = 22) =>
    said(reach(intent({ firewalls: [firewall("fw_1", rules, onWeb)] }), tcp(from, at(web), port)));
  const byRule = (ruleId: string) => ({ by: "firewall_rule", firewallId: "fw_1", ruleId });

  test("one that is attached lets nothing in by itself, and everything out", () => {
    expect(verdict([])).toEqual(["no", { by: "firewall_default", direction: "in" }]);
    const wanted = intent({ firewalls: [firewall("fw_1", [], onWeb)] });
    expect(reach(wanted, tcp(at(web), at(web2))).isAllowed).toBe(true);
  });

  test("the first rule by priority decides, and of two equals the one that denies", () => {
    const deny = rule("fwr_deny", { action: "deny" });
    expect(verdict([rule("fwr_allow"), deny])).toEqual(["no", byRule("fwr_deny")]);
    expect(verdict([rule("fwr_allow", { priority: 1 }), deny])).toEqual(["yes", byRule("fwr_allow")]);
    expect(verdict([rule("fwr_allow", { isEnabled: false })])[0]).toBe("no");
  });

  test.each([
    ["a block", block("10.0.1.11/32"), "yes", "no"],
    ["a subnet", { kind: "subnet", subnetId: app.id }, "yes", "no"],
    ["a network", { kind: "network", networkId: "net_a1" }, "yes", "yes"],
    ["a firewall", { kind: "firewall", firewallId: "fw_2" }, "no", "yes"],
    ["labels", { kind: "labels", terms: [{ operator: "exists", key: "jump" }] }, "no", "yes"],
    ["another's network", { kind: "network", networkId: "net_b1" }, "no", "no"],
  ] as const)("a rule about %s", (_, peer, fromWeb2, fromOps) => {
    const wanted = intent({
      servers: [web, web2, { ...ops, labels: { jump: "" } }, db, foreign],
      firewalls: [
        firewall("fw_1", [rule("fwr_1", { peers: [peer] })], onWeb),
        firewall("fw_2", [], [{ kind: "server", serverId: ops.id }]),
      ],
    });
    expect(said(reach(wanted, tcp(at(web2), at(web))))[0]).toBe(fromWeb2);
    expect(said(reach(wanted, tcp(at(ops), at(web))))[0]).toBe(fromOps);
  });

  test("inside addresses in a rule do not match packets from the internet", () => {
    const outside = { ...web, publicAddresses: ["203.0.113.50"] };
    const inside = rule("fwr_1", { peers: [{ kind: "network", networkId: "net_a1" }] });
    const wanted = intent({
      servers: [outside, web2],
      firewalls: [firewall("fw_1", [inside], onWeb)],
    });
    expect(reach(wanted, tcp(to(outsideAddress), to("203.0.113.50"))).isAllowed).toBe(false);
    expect(reach(wanted, tcp(at(web2), at(outside))).isAllowed).toBe(true);
  });

  test("one can forbid what a server sends", () => {
    const wanted = intent({
      firewalls: [firewall("fw_1", [rule("fwr_1", { direction: "out", action: "deny" })], onWeb)],
    });
    expect(reach(wanted, tcp(at(web), at(web2))).checks).toEqual([
      { place: "sender_filter", isAllowed: false, decision: byRule("fwr_1") },
    ]);
  });

  test("another organisation's firewall does not filter foreign servers", () => {
    const theirs = { ...firewall("fw_1", [], onWeb), organisationId: "org_b" };
    expect(reach(intent({ firewalls: [theirs] }), tcp(at(web2), at(web))).isAllowed).toBe(true);
  });
});

describe("whatever is wanted", () => {
  const isData = (wanted: NetworkIntent, id: string) =>
    wanted.servers
      .find((each) => each.id === id)
      ?.interfaces.some(
        ({ subnetId }) => wanted.subnets.find((subnet) => subnet.id === subnetId)?.tier === "data",
      ) === true;
  const outsideAddresses = (wanted: NetworkIntent) => [
    outsideAddress,
    ...wanted.gateways.map(({ address }) => address),
    ...wanted.servers.flatMap(({ publicAddresses }) => publicAddresses),
  ];

  test("a data subnet never reaches the internet, whatever serves it", () => {
    fc.assert(
      fc.property(anyIntent, anyServerId, anyProbe, (wanted, id, probe) => {
        fc.pre(isData(wanted, id));
        const own = wanted.servers.find((each) => each.id === id)?.publicAddresses ?? [];
        for (const address of outsideAddresses(wanted).filter((each) => !own.includes(each)))
          expect(
            reach(wanted, { from: { kind: "server", serverId: id }, to: to(address), ...probe }),
          ).toMatchObject({
            isAllowed: false,
          });
      }),
    );
  });

  test("nothing from the internet is forwarded into a data subnet", () => {
    fc.assert(
      fc.property(anyIntent, anyProbe, (wanted, probe) => {
        for (const { id, address } of wanted.gateways) {
          const verdict = reach(wanted, { from: to(outsideAddress), to: to(address), ...probe });
          const forward = wanted.gateways.find((each) => each.id === id)?.portForwards[0];
          if (!verdict.checks.some(({ decision }) => decision.by === "port_forward")) continue;
          const reached = wanted.servers.find(({ interfaces }) =>
            interfaces.some(
              (each) => each.address === forward?.targetAddress && each.subnetId.includes(id.slice(3)),
            ),
          );
          expect(reached === undefined || !isData(wanted, reached.id)).toBe(true);
        }
      }),
    );
  });

  test("what happens inside one network is decided by that network and its owner's firewalls alone", () => {
    fc.assert(
      fc.property(anyIntent, anyServerId, anyServerId, anyProbe, (wanted, from, target, probe) => {
        const sender = wanted.servers.find(({ id }) => id === from);
        const receiver = wanted.servers.find(({ id }) => id === target);
        if (sender === undefined || receiver === undefined) throw new Error("a sample has lost its servers");
        const prefix = from.slice(0, "srv_a1".length);
        const alone: NetworkIntent = {
          subnets: wanted.subnets.filter(({ networkId }) => networkId === `net_${prefix.slice(4)}`),
          gateways: wanted.gateways.filter(({ networkId }) => networkId === `net_${prefix.slice(4)}`),
          servers: wanted.servers.filter(({ id }) => id.startsWith(prefix)),
          firewalls: wanted.firewalls.filter(
            ({ organisationId }) => organisationId === sender.organisationId,
          ),
        };
        const address = to(receiver.interfaces[0]?.address ?? "");
        const question = { from: { kind: "server", serverId: from } as const, ...probe };
        // Public addresses of the other servers of the organisation may be named by a rule, and are not about this.
        expect(reach(wanted, { ...question, to: address })).toEqual(
          reach(alone, { ...question, to: address }),
        );
        if (!target.startsWith(prefix))
          expect(said(reach(wanted, { ...question, to: { kind: "server", serverId: target } }))).toEqual([
            "no",
            { by: "isolation", networkId: `net_${target.slice(4, 6)}` },
          ]);
      }),
    );
  });

  test("one more firewall without a rule opens nothing", () => {
    fc.assert(
      fc.property(anyIntent, anyServerId, anyServerId, anyProbe, (wanted, from, target, probe) => {
        const question: Question = {
          from: { kind: "server", serverId: from },
          to: { kind: "server", serverId: target },
          ...probe,
        };
        const closed: Firewall = {
          id: "fw_closed",
          organisationId: target.startsWith("srv_a") ? "org_a" : "org_b",
          region: "ist1",
          rules: [],
          targets: [{ kind: "server", serverId: target }],
        };
        const more = { ...wanted, firewalls: [...wanted.firewalls, closed] };
        if (reach(more, question).isAllowed) expect(reach(wanted, question).isAllowed).toBe(true);
      }),
    );
  });

  test("a verdict is that of its checks", () => {
    fc.assert(
      fc.property(anyIntent, anyServerId, anyServerId, anyProbe, (wanted, from, target, probe) => {
        const verdict = reach(wanted, {
          from: { kind: "server", serverId: from },
          to: { kind: "server", serverId: target },
          ...probe,
        });
        const refused = verdict.checks.filter(({ isAllowed }) => !isAllowed);
        expect(refused.length).toBe(verdict.isAllowed ? 0 : 1);
        if (!verdict.isAllowed) expect(verdict.checks.at(-1)?.decision).toEqual(verdict.decision);
      }),
    );
  });
});
