import { describe, expect, test } from "vitest";
import { type AnsweringBalancer, httpProofOf, unansweredProof } from "./http-proof.ts";

const own: AnsweringBalancer = { id: "lb_own", region: "r1", address: "192.0.2.1", isInForce: true };
const other: AnsweringBalancer = { ...own, id: "lb_other", region: "r2", address: "192.0.2.2" };
const name = "www.example.com";
const proofOf = (ipv4: readonly string[], ipv6: readonly string[] = [], balancers = [own, other]) =>
  httpProofOf(name, "r1", { ipv4, ipv6 }, balancers);
const codeOf = (...seen: Parameters<typeof proofOf>) => proofOf(...seen).problem?.code ?? null;

describe("the proof of a name over HTTP", () => {
  test("is possible where every address is of an own load balancer that answers, one in the region", () => {
    expect(proofOf([own.address])).toEqual({
      name,
      problem: null,
      leadsTo: [{ address: own.address, loadBalancerId: "lb_own" }],
    });
    expect(codeOf([other.address, own.address])).toBeNull();
    expect(codeOf([other.address])).toBe("name_leads_elsewhere");
  });

  test("is refused as soon as one address leads elsewhere, which it names", () => {
    const strange = proofOf([own.address, "198.51.100.9"]);
    expect(strange.problem).toMatchObject({
      code: "name_leads_elsewhere",
      message: expect.stringContaining("198.51.100.9"),
    });
    expect(strange.leadsTo.map(({ loadBalancerId }) => loadBalancerId)).toEqual(["lb_own", null]);
    expect(codeOf([own.address], [], [])).toBe("name_leads_elsewhere");
  });

  test("is refused with an IPv6 address, where a CA asks first", () => {
    expect(proofOf([own.address], ["2001:db8::1"]).problem).toMatchObject({
      code: "name_has_ipv6_address",
      message: expect.stringContaining("2001:db8::1"),
    });
  });

  test("needs an address, and name servers that answer", () => {
    expect(codeOf([])).toBe("name_without_address");
    expect(httpProofOf(name, "r1", null, [own]).problem?.code).toBe("name_unresolved");
    expect(unansweredProof(name, "r1").problem?.code).toBe("no_load_balancer");
  });

  test("waits until all that it leads to have what they answer with", () => {
    const behind = { ...other, isInForce: false };
    expect(codeOf([own.address, other.address], [], [own, behind])).toBe("answer_not_in_force");
    expect(codeOf([own.address], [], [own, behind])).toBeNull();
  });
});
