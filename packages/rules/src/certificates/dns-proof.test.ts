import { describe, expect, test } from "vitest";
import { attemptErrorTexts, codeOfRefusal } from "./attempt-errors.ts";
import { challengeName, dnsProofOf, domainOfName, type ProvingDomain } from "./dns-proof.ts";

const domain = (more: Partial<ProvingDomain> = {}): ProvingDomain => ({
  id: "dom_1",
  name: "example.com",
  isVerified: true,
  isLeaving: false,
  delegation: "right",
  recordSets: [],
  ...more,
});
const set = (name: string, type: string, ...values: string[]) => ({ name, type, values });
const ca = ["letsencrypt.org"];
const problemOf = (name: string, domains: readonly ProvingDomain[], identities: readonly string[] = ca) =>
  dnsProofOf(name, domains, identities).problem?.message ?? null;

describe("the proof of a name by a record", () => {
  test("is in the innermost domain, at the name without the star", () => {
    const inner = domain({ id: "dom_2", name: "dev.example.com" });
    expect(domainOfName("*.dev.example.com", [domain(), inner])?.id).toBe("dom_2");
    expect(domainOfName("notexample.com", [domain()])).toBeNull();
    expect(dnsProofOf("*.dev.example.com", [domain(), inner], ca)).toEqual({
      name: "*.dev.example.com",
      domainId: "dom_2",
      recordName: "_acme-challenge",
      problem: null,
    });
    expect(dnsProofOf("a.b.example.com", [domain()], ca).recordName).toBe("_acme-challenge.a.b");
    expect(challengeName("*.example.com")).toBe("_acme-challenge.example.com");
  });

  test("needs a domain that is there, proven, served and delegated", () => {
    expect(problemOf("a.example.net", [domain()])).toContain("POST /domains");
    expect(problemOf("example.com", [domain({ isVerified: false })])).toContain("/domains/dom_1/verify");
    expect(problemOf("example.com", [domain({ isLeaving: true })])).toContain("cancel-deletion");
    expect(problemOf("example.com", [domain({ delegation: "elsewhere" })])).toContain("name servers");
    expect(problemOf("example.com", [domain({ delegation: "none" })])).toContain("name servers");
    for (const delegation of ["unknown", "partial", "right"] as const)
      expect(problemOf("example.com", [domain({ delegation })])).toBeNull();
  });

  test("is not possible beside a CNAME, or below a delegation to others", () => {
    const alias = domain({ recordSets: [set("_acme-challenge.www", "CNAME", "elsewhere.example.")] });
    expect(problemOf("www.example.com", [alias])).toContain("CNAME");
    expect(problemOf("example.com", [alias])).toBeNull();
    const delegated = domain({ recordSets: [set("b", "NS", "ns1.example.net.")] });
    expect(problemOf("a.b.example.com", [delegated])).toContain("b in example.com is delegated");
    expect(problemOf("b.example.com", [delegated])).toContain("delegated");
    expect(problemOf("ab.example.com", [delegated])).toBeNull();
  });

  test("is not tried where a CAA record forbids the CA", () => {
    const issue = (...values: string[]) => [domain({ recordSets: [set("@", "CAA", ...values)] })];
    expect(problemOf("a.example.com", issue('0 issue "other.example"'))).toContain(
      '0 issue "letsencrypt.org"',
    );
    expect(problemOf("a.example.com", issue('0 issue ";"'))).toContain("CAA");
    expect(problemOf("a.example.com", issue('0 issue "LetsEncrypt.org; accounturi=x"'))).toBeNull();
    expect(problemOf("a.example.com", issue('0 iodef "mailto:a@example.com"'))).toBeNull();
    // Of a wildcard issuewild alone decides, where there is one.
    const wild = issue('0 issue "letsencrypt.org"', '0 issuewild "other.example"');
    expect(problemOf("*.example.com", wild)).toContain("issuewild");
    expect(problemOf("example.com", wild)).toBeNull();
    // The nearest set decides.
    const nearest = domain({
      recordSets: [set("@", "CAA", '0 issue "other.example"'), set("a", "CAA", '0 issue "letsencrypt.org"')],
    });
    expect(problemOf("x.a.example.com", [nearest])).toBeNull();
    expect(problemOf("x.example.com", [nearest])).toContain("@ in example.com");
    expect(problemOf("x.example.com", [nearest], [])).toBeNull();
  });
});

test("each refusal of a CA has a text of ours", () => {
  for (const type of ["caa", "dns", "rateLimited", "rejectedIdentifier", "unauthorized", "never heard of it"])
    expect(attemptErrorTexts[codeOfRefusal(type)]).toMatch(/\.$/);
  expect(codeOfRefusal("never heard of it")).toBe("ca_refused");
  expect(codeOfRefusal("constructor")).toBe("ca_refused");
});
