import type { Schemas } from "@kule/contract/schemas";
import { compareDelegation } from "@kule/rules/domains/delegation";
import { checkProblems as problemsByTheRules, type ServedState } from "@kule/rules/domains/served-check";
import { expect, test } from "vitest";
import { messagesOf } from "../../messages/messages.ts";
import { checkProblems } from "./check-problems.ts";

const own = ["k1.ns1.example.net", "k1.ns2.example.net"];
const foreign = "ns.elsewhere.example";
const ds = "12345 13 2 abab";
const otherDs = "999 8 2 cdcd";

/** What the API answers for an Internet that says this, with the rules of the API. */
function checkOf(said: {
  readonly observed?: readonly string[] | null;
  readonly state?: ServedState;
  readonly ds?: readonly string[];
  readonly parentDs?: readonly string[];
}): { readonly domain: Schemas["Domain"]; readonly check: Schemas["DomainCheck"] } {
  const { observed = own, state = "serves", ds = [], parentDs = [] } = said;
  const delegation = compareDelegation(observed, own);
  const servers = own.map((name) => ({ name, address: "192.0.2.53", state }));
  const problems = problemsByTheRules(
    { name: "shop.example", nameServers: own, isProven: true, ds },
    { servers, delegation, parentDs },
  );
  return {
    domain: {
      unicode_name: "shop.example",
      name_servers: own,
      dnssec: { enabled: true, ds },
    } as unknown as Schemas["Domain"],
    check: {
      name_servers: servers.map((server) => ({ ...server, serial: null })),
      delegation: { ...delegation, ds: parentDs },
      problems,
    } as unknown as Schemas["DomainCheck"],
  };
}

test.each([
  ["without an answer of its parent", { observed: null }, ["shop.example"]],
  ["without name servers", { observed: [] }, own],
  ["that is served elsewhere", { observed: [foreign] }, [foreign, ...own]],
  ["with some of its name servers", { observed: own.slice(1) }, own],
  ["with others beside its name servers", { observed: [...own, foreign] }, [foreign]],
  ["whose name servers are behind", { state: "serves_older" }, own],
  ["whose name servers do not have it", { state: "not_serving" }, own],
  ["whose name servers are silent", { state: "silent" }, own],
  ["with a DS record of other keys", { ds: [ds], parentDs: [otherDs] }, [otherDs]],
  ["without a DS record", { ds: [ds] }, [ds]],
] as const)("a check of a domain %s is told in Turkish and names what it is about", (_what, said, named) => {
  const { domain, check } = checkOf(said);
  const [problem, ...more] = checkProblems(messagesOf("tr"), domain, check);
  expect(more).toEqual([]);
  expect(problem?.isEnglish).toBe(false);
  expect(problem?.fix).not.toBe("");
  for (const name of named) expect(`${problem?.text} ${problem?.fix}`).toContain(name);
});

test("a problem that the panel does not know yet is told in the API's words, and in English all are", () => {
  const { domain, check } = checkOf({ state: "silent" });
  const problems = [{ code: "new_problem", message: "ns1.example does something new", fix: null }];
  expect(checkProblems(messagesOf("tr"), domain, { ...check, problems })).toEqual([
    { text: "ns1.example does something new.", fix: "", isEnglish: true },
  ]);
  const english = checkProblems(messagesOf("en"), domain, check).map(({ text }) => text);
  expect(english).toEqual(own.map((name) => `${name} (192.0.2.53) does not answer.`));
});
