import { describe, expect, test } from "vitest";
import { compareDelegation } from "./delegation.ts";
import { type CheckFacts, checkProblems, servedState } from "./served-check.ts";

const own = ["k1.ns1.example.net", "k1.ns2.example.net"];

describe("the delegation of a domain", () => {
  test("is right when the parent names exactly its name servers, in any form", () => {
    expect(compareDelegation(["K1.ns2.example.net.", "k1.ns1.example.net"], own)).toEqual({
      state: "right",
      observed: own,
      missing: [],
      foreign: [],
    });
  });

  test("is partial with one that is missing or one that is another's", () => {
    expect(compareDelegation([own[0] ?? ""], own)).toMatchObject({ state: "partial", missing: [own[1]] });
    expect(compareDelegation([...own, "ns.elsewhere.example"], own)).toMatchObject({
      state: "partial",
      missing: [],
      foreign: ["ns.elsewhere.example"],
    });
  });

  test("is elsewhere, none or unknown otherwise", () => {
    expect(compareDelegation(["ns.elsewhere.example"], own).state).toBe("elsewhere");
    expect(compareDelegation([], own).state).toBe("none");
    expect(compareDelegation(null, own)).toEqual({
      state: "unknown",
      observed: [],
      missing: [],
      foreign: [],
    });
  });
});

describe("what a name server serves", () => {
  test("is the last change or a later one, on a circle of serials", () => {
    expect(servedState(7, 7)).toBe("serves");
    expect(servedState(8, 7)).toBe("serves");
    expect(servedState(6, 7)).toBe("serves_older");
    expect(servedState(1, 0xffff_ffff)).toBe("serves");
    expect(servedState(null, 7)).toBe("not_serving");
    expect(servedState(3, null)).toBe("serves");
  });
});

describe("the check of a domain", () => {
  const domain = { name: "example.com", nameServers: own, isProven: true, ds: ["1 13 2 ab"] };
  const right: CheckFacts = {
    servers: [{ name: own[0] ?? "", address: "192.0.2.1", state: "serves" }],
    delegation: compareDelegation(own, own),
    parentDs: ["1 13 2 AB"],
  };
  const codes = (of: typeof domain, facts: Partial<CheckFacts>) =>
    checkProblems(of, { ...right, ...facts }).map(({ code }) => code);

  test("finds nothing where all is right", () => {
    expect(codes(domain, {})).toEqual([]);
  });

  test("names servers that are behind, silent or without the zone, of a proven domain only", () => {
    for (const [state, code] of [
      ["serves_older", "name_server_behind"],
      ["silent", "name_server_silent"],
      ["not_serving", "name_server_not_serving"],
    ] as const) {
      const servers = [{ name: "a", address: "192.0.2.1", state }];
      expect(codes(domain, { servers })).toEqual([code]);
      expect(codes({ ...domain, isProven: false }, { servers })).toEqual([]);
    }
  });

  test("finds DS records that are missing, and those of keys that the domain has not", () => {
    expect(codes(domain, { parentDs: [] })).toEqual(["ds_missing"]);
    expect(codes(domain, { parentDs: ["2 13 2 cd"] })).toEqual(["ds_of_other_keys"]);
    expect(codes({ ...domain, ds: [] }, {})).toEqual(["ds_of_other_keys"]);
    expect(codes({ ...domain, ds: [] }, { parentDs: [] })).toEqual([]);
    // Keys may be on their way in or out.
    expect(codes(domain, { parentDs: ["2 13 2 cd", "1 13 2 ab"] })).toEqual([]);
    expect(codes(domain, { parentDs: null })).toEqual([]);
  });
});
