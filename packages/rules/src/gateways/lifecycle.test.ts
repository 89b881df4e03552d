import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NetworkIntent } from "../networks/intent.ts";
import { reach } from "../networks/reachability.ts";
import type { Tier } from "../networks/tiers.ts";
import {
  decideCreateGateway,
  decideDeleteGateway,
  decideDropForward,
  decideForward,
  decideLeaveSubnet,
  decideServeSubnet,
  type ForwardFacts,
  type GatewayFacts,
  type ServableSubnet,
} from "./lifecycle.ts";

const subnet = (third: number, tier: Tier, isDeleting = false): ServableSubnet => ({
  id: `sub_${third}`,
  tier,
  cidr: `10.0.${third}.0/24`,
  isDeleting,
});
const [app, mgmt, data] = [subnet(1, "app"), subnet(2, "mgmt"), subnet(3, "data")] as const;
const gateway = (more: Partial<GatewayFacts> = {}): GatewayFacts => ({
  id: "gw_1",
  isDeleting: false,
  hasOpenJob: false,
  servedIds: [app.id],
  leavingIds: [],
  forwards: [],
  subnets: [app, mgmt, data],
  ...more,
});
const codes = (refusals: readonly { readonly code: string }[]) => refusals.map(({ code }) => code);
const open = { slug: "ist1", maintenance: false, hasEdge: true };
const network = { id: "net_1", isDeleting: false, gateway: null };
const server = { id: "srv_1", isLeaving: false };
const web = { protocol: "tcp", listenPort: 443, targetAddress: "10.0.1.10" } as const;

describe("a gateway", () => {
  test.each([
    ["where there is an edge", {}, [app, mgmt], []],
    ["for data", {}, [app, data], ["tier_forbids_egress"]],
    ["for a subnet that goes", {}, [subnet(1, "app", true)], ["resource_deleting"]],
    ["without an edge", { region: { ...open, hasEdge: false } }, [app], ["region_unavailable"]],
    ["in maintenance", { region: { ...open, maintenance: true } }, [app], ["region_unavailable"]],
    [
      "beside another",
      { network: { ...network, gateway: { id: "gw_0", isDeleting: false } } },
      [app],
      ["already_attached"],
    ],
    [
      "before another has gone",
      { network: { ...network, gateway: { id: "gw_0", isDeleting: true } } },
      [app],
      ["resource_deleting"],
    ],
    ["of a network that goes", { network: { ...network, isDeleting: true } }, [app], ["resource_deleting"]],
  ] as const)("is made %s: %#", (_, more, subnets, expected) => {
    expect(codes(decideCreateGateway({ region: open, network, subnets, ...more }))).toEqual(expected);
  });

  test.each([
    [mgmt, {}, []],
    [app, {}, ["already_attached"]],
    [data, {}, ["tier_forbids_egress"]],
    [mgmt, { isDeleting: true }, ["resource_deleting"]],
  ] as const)("serves one more subnet: %#", (wanted, more, expected) => {
    expect(codes(decideServeSubnet(gateway(more), wanted))).toEqual(expected);
  });

  test("detaches a subnet that nothing is forwarded into", () => {
    expect(decideLeaveSubnet(gateway(), app)).toEqual([]);
    expect(codes(decideLeaveSubnet(gateway(), mgmt))).toEqual(["not_attached"]);
    const forwards = [{ ...web, id: "pf_1" }];
    expect(decideLeaveSubnet(gateway({ forwards }), app)).toMatchObject([
      { code: "in_use", resource: "pf_1" },
    ]);
    const leaving = { servedIds: [], leavingIds: [app.id] };
    expect(codes(decideLeaveSubnet(gateway({ ...leaving, hasOpenJob: true }), app))).toEqual([
      "not_attached",
    ]);
    expect(decideLeaveSubnet(gateway(leaving), app)).toEqual([]);
  });

  test("deletes a forwarded port, again only when the job has failed", () => {
    const open = gateway({ hasOpenJob: true });
    expect(decideDropForward(open, { id: "pf_1", isLeaving: false })).toEqual([]);
    expect(codes(decideDropForward(open, { id: "pf_1", isLeaving: true }))).toEqual(["resource_deleting"]);
    expect(decideDropForward(gateway(), { id: "pf_1", isLeaving: true })).toEqual([]);
    expect(codes(decideDropForward(gateway({ isDeleting: true }), { id: "pf_1", isLeaving: true }))).toEqual([
      "resource_deleting",
    ]);
  });

  test.each([
    [web, []],
    [{ ...web, targetAddress: "10.0.2.10" }, ["subnet_no_egress"]],
    [{ ...web, targetAddress: "10.0.3.10" }, ["tier_forbids_egress"]],
    [{ ...web, targetAddress: "10.9.9.9" }, ["subnet_no_egress"]],
    [{ ...web, targetAddress: null }, ["subnet_no_egress"]],
    [{ ...web, listenPort: 22 }, ["port_in_use"]],
    [{ ...web, protocol: "udp", listenPort: 22 }, []],
    [{ ...web, server: { ...server, isLeaving: true } }, ["resource_deleting"]],
  ] as const)("forwards a port: %#", (wanted, expected) => {
    const forwards = [{ ...web, id: "pf_1", listenPort: 22 }];
    expect(codes(decideForward(gateway({ forwards }), { server, ...wanted }))).toEqual(expected);
  });

  test("is deleted with the subnets that it serves, and not while it forwards a port", () => {
    expect(decideDeleteGateway(gateway())).toEqual([]);
    const leaving = { isDeleting: true, hasOpenJob: true };
    expect(codes(decideDeleteGateway(gateway(leaving)))).toEqual(["resource_deleting"]);
    expect(decideDeleteGateway(gateway({ ...leaving, hasOpenJob: false }))).toEqual([]);
    const forwards = [{ ...web, id: "pf_1" }];
    expect(decideDeleteGateway(gateway({ forwards }))).toMatchObject([{ code: "in_use", resource: "pf_1" }]);
  });
});

type Act =
  | { readonly do: "serve" | "leave"; readonly third: number }
  | { readonly do: "forward"; readonly third: number; readonly port: number };
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    do: fc.constantFrom<"serve" | "leave">("serve", "leave"),
    third: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({
    do: fc.constant("forward" as const),
    third: fc.integer({ min: 1, max: 4 }),
    port: fc.integer({ min: 1, max: 3 }),
  }),
);

/** The state of a gateway when everything is requested and refused requests change nothing. */
function after(tiers: readonly Tier[], acts: readonly Act[]): GatewayFacts {
  const subnets = tiers.map((tier, index) => subnet(index + 1, tier));
  let facts = gateway({ servedIds: [], subnets });
  for (const act of acts) {
    const at = subnets[act.third - 1];
    if (act.do === "forward") {
      const wanted = {
        protocol: "tcp",
        listenPort: act.port,
        targetAddress: `10.0.${act.third}.10`,
      } as const;
      const forward: ForwardFacts = { ...wanted, id: `pf_${facts.forwards.length}` };
      if (decideForward(facts, { ...wanted, server }).length === 0)
        facts = { ...facts, forwards: [...facts.forwards, forward] };
    } else if (at !== undefined && act.do === "serve") {
      if (decideServeSubnet(facts, at).length === 0)
        facts = { ...facts, servedIds: [...facts.servedIds, at.id] };
    } else if (at !== undefined && decideLeaveSubnet(facts, at).length === 0)
      facts = { ...facts, servedIds: facts.servedIds.filter((id) => id !== at.id) };
  }
  return facts;
}

function intentOf({ servedIds, forwards, subnets }: GatewayFacts): NetworkIntent {
  return {
    subnets: subnets.map(({ id, tier, cidr }) => ({
      id,
      networkId: "net_1",
      tier,
      cidr,
      routerAddress: cidr.replace("0/24", "1"),
    })),
    servers: subnets.map(({ id, cidr }) => ({
      id: id.replace("sub", "srv"),
      organisationId: "org_a",
      region: "ist1",
      labels: {},
      interfaces: [{ subnetId: id, address: cidr.replace("0/24", "10") }],
      publicAddresses: [],
    })),
    gateways: [
      {
        id: "gw_1",
        networkId: "net_1",
        address: "203.0.113.1",
        subnetIds: servedIds,
        portForwards: forwards.map((each) => ({ ...each, targetPort: 80 })),
      },
    ],
    firewalls: [],
  };
}

const anyTiers = fc.array(fc.constantFrom<Tier>("app", "mgmt", "data"), { minLength: 3, maxLength: 4 });
const outside = { kind: "address", address: "198.51.100.7" } as const;

describe("whatever is requested, in whatever order", () => {
  test("no gateway ever serves a data subnet, or forwards into one", () => {
    fc.assert(
      fc.property(anyTiers, fc.array(anyAct, { maxLength: 30 }), (tiers, acts) => {
        const { servedIds, forwards, subnets } = after(tiers, acts);
        const closed = subnets.filter(({ tier }) => tier === "data");
        expect(closed.filter(({ id }) => servedIds.includes(id))).toEqual([]);
        for (const { cidr } of closed)
          expect(forwards.filter((each) => each.targetAddress === cidr.replace("0/24", "10"))).toEqual([]);
      }),
    );
  });

  test("what is forwarded arrives, and what is served gets out: nothing that was accepted leads nowhere", () => {
    fc.assert(
      fc.property(anyTiers, fc.array(anyAct, { maxLength: 30 }), (tiers, acts) => {
        const facts = after(tiers, acts);
        const intent = intentOf(facts);
        for (const { listenPort } of facts.forwards)
          expect(
            reach(intent, {
              from: outside,
              to: { kind: "address", address: "203.0.113.1" },
              protocol: "tcp",
              port: listenPort,
            }).decision.by,
          ).toBe("port_forward");
        for (const { id } of facts.subnets)
          expect(
            reach(intent, {
              from: { kind: "server", serverId: id.replace("sub", "srv") },
              to: outside,
              protocol: "tcp",
              port: 443,
            }).isAllowed,
          ).toBe(facts.servedIds.includes(id));
      }),
    );
  });
});
