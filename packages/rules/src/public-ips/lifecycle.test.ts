import { describe, expect, it } from "vitest";
import { serverStatuses } from "../servers/lifecycle.ts";
import {
  type AttachTarget,
  decideAttach,
  decideDetach,
  decideGiveToOwner,
  decideRelease,
  type Holder,
  ownedIpStatus,
  type PublicIpFacts,
  publicIpActions,
  publicIpStatus,
} from "./lifecycle.ts";

const holder: Holder = {
  id: "srv_a",
  region: "ist1",
  status: "running",
  hasOpenJob: false,
  lockedFor: null,
  managedBy: null,
};
const free: PublicIpFacts = {
  id: "ip_1",
  region: "ist1",
  version: 4,
  vlan: null,
  isProtected: false,
  serverId: null,
  heldBy: null,
  isApplied: false,
  holder: null,
  keeper: null,
  gateway: null,
  loadBalancer: null,
};
const attached: PublicIpFacts = { ...free, serverId: "srv_a", heldBy: "srv_a", isApplied: true, holder };
const target: AttachTarget = { ...holder, id: "srv_b", others: [] };
const refusalOf = ({ code }: { readonly code: string }) => ({ allowed: false, code });
const codes = (found: readonly { readonly code: string }[]) => found.map(({ code }) => code);

it.each([
  [null, null, false, "free"],
  [null, "srv_a", false, "detaching"],
  ["srv_a", "srv_a", false, "attaching"],
  ["srv_b", "srv_a", false, "attaching"],
  ["srv_a", "srv_a", true, "attached"],
] as const)("wanted by %s, held by %s, applied %s: %s", (serverId, heldBy, isApplied, status) => {
  expect(publicIpStatus({ serverId, heldBy, isApplied })).toBe(status);
});

describe("attaching", () => {
  it("is for servers that run or are stopped, and have no open job", () => {
    for (const status of serverStatuses) {
      const found = codes(decideAttach(free, { ...target, status }, false));
      if (status === "running" || status === "stopped") expect(found).toEqual([]);
      else if (status === "pending_deletion" || status === "deleting")
        expect(found).toEqual(["resource_deleting"]);
      else expect(found).toEqual(["invalid_state"]);
    }
    expect(codes(decideAttach(free, { ...target, hasOpenJob: true }, false))).toEqual(["invalid_state"]);
  });

  it("waits until the server that still has the address has released it", () => {
    const waiting = { ...attached, heldBy: "srv_c", keeper: { ...holder, id: "srv_c", hasOpenJob: true } };
    const refusal = { code: "invalid_state", resource: "srv_c" };
    expect(decideAttach(waiting, target, true)).toMatchObject([refusal]);
    expect(decideAttach({ ...waiting, isApplied: false }, { ...target, id: "srv_a" }, false)).toMatchObject([
      refusal,
    ]);
    expect(decideDetach(waiting)).toMatchObject([refusal]);
    expect(publicIpActions(waiting)).toMatchObject({
      attach: refusalOf(refusal),
      detach: refusalOf(refusal),
    });
    expect(decideDetach({ ...waiting, keeper: { ...holder, id: "srv_c" } })).toEqual([]);
  });

  it("moves an address from another server only with force, and only when that one has no open job", () => {
    expect(decideAttach(attached, target, false)).toMatchObject([
      { code: "already_attached", resource: "srv_a", fix: expect.stringContaining('"force":true') },
    ]);
    expect(decideAttach(attached, target, true)).toEqual([]);
    const busy = { ...attached, holder: { ...holder, hasOpenJob: true } };
    expect(decideAttach(busy, target, true)).toMatchObject([{ code: "invalid_state", resource: "srv_a" }]);
    const going = { ...attached, holder: { ...holder, status: "pending_deletion" as const } };
    expect(decideAttach(going, target, true)).toEqual([]);
    const gone = { ...attached, holder: { ...holder, status: "deleting" as const } };
    expect(codes(decideAttach(gone, target, true))).toEqual(["resource_deleting"]);
  });

  it("to the server that has it is refused, unless it never arrived there", () => {
    const same = { ...target, id: "srv_a" };
    expect(codes(decideAttach(attached, same, true))).toEqual(["already_attached"]);
    expect(decideAttach({ ...attached, isApplied: false }, same, false)).toEqual([]);
  });

  it("stays in the region, and gives a server one of each version in one VLAN", () => {
    expect(codes(decideAttach(free, { ...target, region: "ank1" }, false))).toEqual(["region_mismatch"]);
    const beside = (version: number, vlan: number | null) =>
      codes(decideAttach(free, { ...target, others: [{ id: "ip_2", version, vlan }] }, false));
    expect(beside(4, null)).toEqual(["already_attached"]);
    expect(beside(6, null)).toEqual([]);
    expect(beside(6, 20)).toEqual(["invalid_state"]);
  });
});

describe("detaching", () => {
  it("needs a server to detach it from, without an open job; one in the removal buffer will do", () => {
    expect(codes(decideDetach(free))).toEqual(["not_attached"]);
    expect(decideDetach(attached)).toEqual([]);
    const with_ = (more: Partial<Holder>) =>
      codes(decideDetach({ ...attached, holder: { ...holder, ...more } }));
    expect(with_({ status: "pending_deletion" })).toEqual([]);
    expect(with_({ status: "error" })).toEqual([]);
    expect(with_({ status: "creating" })).toEqual(["invalid_state"]);
    expect(with_({ status: "deleting" })).toEqual(["resource_deleting"]);
    expect(with_({ hasOpenJob: true })).toEqual(["invalid_state"]);
    expect(with_({ lockedFor: "abuse" })).toEqual(["locked"]);
  });
});

describe("releasing", () => {
  it("needs an address that is on no server and not protected", () => {
    expect(decideRelease(free)).toEqual([]);
    expect(codes(decideRelease(attached))).toEqual(["in_use"]);
    expect(codes(decideRelease({ ...free, isProtected: true }))).toEqual(["protected"]);
    expect(codes(decideRelease({ ...free, heldBy: "srv_a", holder }))).toEqual(["in_use"]);
  });
});

it("the actions show the results of the decisions, and why not", () => {
  expect(publicIpActions(free)).toMatchObject({
    attach: { allowed: true, code: null },
    detach: { allowed: false, code: "not_attached" },
    delete: { allowed: true },
  });
  expect(publicIpActions({ ...attached, holder: { ...holder, hasOpenJob: true } })).toMatchObject({
    attach: { allowed: false, code: "invalid_state", reason: "The server has a job under way" },
    detach: { allowed: false, code: "invalid_state" },
    delete: { allowed: false, code: "in_use" },
  });
});

const owner = { id: "own_1", isDeleting: false, isApplied: true };

describe.each([
  ["a gateway", { ...free, gateway: owner }, "DELETE /gateways/own_1"],
  ["a load balancer on two servers", { ...free, loadBalancer: owner }, "DELETE /load-balancers/own_1"],
] as const)("the address of %s", (_, held: PublicIpFacts, fix) => {
  it("is attached to no server, with or without force, detached from nothing, and not released", () => {
    for (const force of [false, true])
      expect(decideAttach(held, target, force)).toMatchObject([
        { code: "already_attached", resource: "own_1", fix },
      ]);
    expect(decideGiveToOwner(held)).toMatchObject([{ code: "already_attached", resource: "own_1", fix }]);
    expect(decideDetach(held)).toMatchObject([{ code: "in_use", resource: "own_1", fix }]);
    expect(decideRelease(held)).toMatchObject([{ code: "in_use", resource: "own_1", fix }]);
    const { attach, detach, delete: release } = publicIpActions(held);
    expect([attach.allowed, detach.allowed, release.allowed]).toEqual([false, false, false]);
  });

  it("is reserved and released with it", () => {
    const gateway = owner;
    expect(ownedIpStatus({ ...gateway, isApplied: false })).toBe("attaching");
    expect(ownedIpStatus(gateway)).toBe("attached");
    expect(ownedIpStatus({ ...gateway, isDeleting: true })).toBe("detaching");
  });
});
