import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Claim, claimLifetimeMs, isExpired } from "./claim.ts";
import {
  type ClaimFacts,
  decideClaim,
  decideVerification,
  isProvenByParent,
  type VerificationFacts,
} from "./ownership.ts";

const startMs = 1_800_000_000_000;
const claim = (
  organisationId: string,
  name: string,
  status: Claim["status"],
  claimedAtMs = startMs,
): Claim => ({
  id: `dom_${organisationId}_${name}`,
  organisationId,
  name,
  status,
  claimedAtMs,
  nameServers: status === "verified" ? [`k-${organisationId}.ns1.kule.example`] : [],
  isByParent: false,
  isLeaving: false,
  isBusy: false,
});
const mayClaim = (name: string, claims: Claim[], rest: Partial<ClaimFacts> = {}) => {
  const facts = {
    organisationId: "me",
    name,
    nowMs: startMs,
    claims,
    isDelegated: false,
    pendingCount: 0,
    ...rest,
  };
  const decision = decideClaim(facts);
  return decision.ok ? "yes" : decision.problem.rule;
};
const verify = (own: Claim, claims: Claim[], rest: Partial<VerificationFacts> = {}) =>
  decideVerification(own, {
    nowMs: startMs,
    claims: [own, ...claims],
    isDelegated: false,
    isProven: true,
    observed: [],
    ...rest,
  });

describe("an organisation may claim a name", () => {
  test("that nobody has, and that others only claim", () => {
    expect(mayClaim("example.com", [])).toBe("yes");
    expect(mayClaim("example.com", [claim("other", "example.com", "pending")])).toBe("yes");
  });

  test("unless it has it already; its expired claim does not count", () => {
    expect(mayClaim("example.com", [claim("me", "example.com", "pending")])).toBe("already_yours");
    expect(mayClaim("example.com", [claim("me", "example.com", "verified")])).toBe("already_yours");
    const expired = claim("me", "example.com", "pending", startMs - claimLifetimeMs);
    expect(mayClaim("example.com", [expired])).toBe("yes");
  });

  test("that another one has proven, since it may be sold; inside of a proven domain that decides", () => {
    const theirs = claim("other", "example.com", "verified");
    expect(mayClaim("example.com", [theirs])).toBe("yes");
    const inside = claim("other", "dev.example.com", "verified");
    for (const isDelegated of [true, false])
      expect(mayClaim("dev.example.com", [theirs, inside], { isDelegated })).toBe("name_taken");
  });

  test("inside of its own domain that another one has, unless it delegates it or that is being changed", () => {
    const inside = claim("other", "dev.example.com", "verified");
    const mine = claim("me", "example.com", "verified");
    expect(mayClaim("dev.example.com", [mine, inside])).toBe("yes");
    expect(mayClaim("dev.example.com", [mine, inside], { isDelegated: true })).toBe("name_taken");
    expect(mayClaim("dev.example.com", [mine, { ...inside, isBusy: true }])).toBe("name_taken");
    const child = claim("me", "dev.example.com", "pending");
    expect(verify(child, [mine, inside], { observed: null })).toMatchObject({ ok: true, taken: inside.id });
  });

  test("inside of another one's domain only if that delegates it", () => {
    const parent = claim("other", "example.com", "verified");
    expect(mayClaim("a.b.example.com", [parent])).toBe("parent_taken");
    expect(mayClaim("a.b.example.com", [parent], { isDelegated: true })).toBe("yes");
    expect(mayClaim("badexample.com", [parent])).toBe("yes");
    expect(mayClaim("dev.example.com", [claim("other", "example.com", "pending")])).toBe("yes");
  });

  test("the nearest verified parent decides", () => {
    const [theirs, mine] = [
      claim("other", "example.com", "verified"),
      claim("me", "dev.example.com", "verified"),
    ];
    expect(mayClaim("a.dev.example.com", [theirs, mine])).toBe("yes");
    const [ours, between] = [
      claim("me", "example.com", "verified"),
      claim("other", "dev.example.com", "verified"),
    ];
    expect(mayClaim("a.dev.example.com", [ours, between])).toBe("parent_taken");
  });

  test("that has names of others inside of it, and of its own names whatever it likes", () => {
    expect(mayClaim("example.com", [claim("other", "dev.example.com", "verified")])).toBe("yes");
    expect(mayClaim("dev.example.com", [claim("me", "example.com", "verified")])).toBe("yes");
    expect(mayClaim("example.com", [claim("me", "dev.example.com", "verified")])).toBe("yes");
  });

  test("while fewer than 20 of its claims are pending", () => {
    expect(mayClaim("example.com", [], { pendingCount: 19 })).toBe("yes");
    expect(mayClaim("example.com", [], { pendingCount: 20 })).toBe("too_many_pending");
  });

  test("no refusal and no permission tells which organisation it is, or what names it has", () => {
    const claims = [
      claim("rival", "secret.a.example.com", "verified"),
      claim("rival", "example.com", "verified"),
    ];
    const facts = { organisationId: "me", nowMs: startMs, claims, isDelegated: false, pendingCount: 0 };
    for (const name of ["example.com", "a.example.com", "com.example"])
      expect(JSON.stringify(decideClaim({ ...facts, name }))).not.toMatch(/rival|secret/);
    expect(decideClaim({ ...facts, name: "a.example.com", isDelegated: true })).toEqual({ ok: true });
  });
});

describe("a claim becomes verified", () => {
  const own = claim("me", "example.com", "pending");

  test("with its proof, and the claims of the others are lost", () => {
    const expired = claim("third", "example.com", "pending", startMs - claimLifetimeMs);
    expect(verify(own, [claim("other", "example.com", "pending"), expired])).toEqual({
      ok: true,
      taken: null,
      lost: ["dom_other_example.com"],
      delegationsToKeep: [],
    });
  });

  test("not without its proof; it stays pending", () => {
    expect(verify(own, [], { isProven: false })).toMatchObject({
      problem: { rule: "not_proven" },
      ends: null,
    });
  });

  test("not after 7 days, to the millisecond", () => {
    expect(verify(own, [], { nowMs: startMs + claimLifetimeMs - 1 })).toMatchObject({ ok: true });
    expect(verify(own, [], { nowMs: startMs + claimLifetimeMs })).toMatchObject({
      problem: { rule: "expired" },
      ends: "expired",
    });
    expect(isExpired({ ...own, status: "verified" }, startMs * 2)).toBe(false);
  });

  test("in place of another one's domain to which the name is not delegated any more", () => {
    const theirs = claim("other", "example.com", "verified");
    for (const observed of [[], ["ns1.registrar.example"], ["k-me.ns1.kule.example"]])
      expect(verify(own, [theirs], { observed })).toMatchObject({ ok: true, taken: theirs.id, lost: [] });
    expect(verify(own, [theirs], { isProven: false })).toMatchObject({ problem: { rule: "not_proven" } });
  });

  test("not while the name is delegated to another one's domain, or nobody knows where, or that is being changed", () => {
    const theirs = claim("other", "example.com", "verified");
    const held = { problem: { rule: "name_taken" }, ends: null };
    const both = ["k-me.ns1.kule.example", "k-other.ns1.kule.example"];
    expect(verify(own, [theirs], { observed: ["k-other.ns1.kule.example"] })).toMatchObject(held);
    expect(verify(own, [theirs], { observed: both })).toMatchObject(held);
    expect(verify(own, [theirs], { observed: null })).toMatchObject(held);
    expect(verify(own, [{ ...theirs, isBusy: true }])).toMatchObject(held);
  });

  test("not in place of another one's domain that a parent delegates, or inside of a third one's", () => {
    const [theirs, child] = [
      claim("other", "dev.example.com", "verified"),
      claim("me", "dev.example.com", "pending"),
    ];
    for (const parent of [claim("me", "example.com", "verified"), claim("third", "example.com", "verified")])
      expect(verify(child, [theirs, parent], { isDelegated: true })).toMatchObject({
        problem: { rule: "name_taken" },
      });
  });

  test("not when a parent was proven by another one meanwhile; it can ask for the delegation", () => {
    const child = claim("me", "dev.example.com", "pending");
    const parent = claim("other", "example.com", "verified");
    expect(verify(child, [parent])).toMatchObject({ problem: { rule: "parent_taken" }, ends: null });
    expect(verify(child, [parent], { isDelegated: true })).toMatchObject({ ok: true });
  });

  test("and keeps delegations of the highest names that others have inside of it", () => {
    const claims = [
      claim("other", "a.dev.example.com", "verified"),
      claim("other", "dev.example.com", "verified"),
      claim("third", "b.dev.example.com", "verified"),
      claim("other", "x.y.example.com", "verified"),
      claim("me", "mine.example.com", "verified"),
      claim("other", "c.mine.example.com", "verified"),
      claim("other", "pending.example.com", "pending"),
      claim("other", "badexample.com", "verified"),
    ];
    expect(verify(own, claims)).toEqual({
      ok: true,
      taken: null,
      lost: [],
      delegationsToKeep: ["dev.example.com", "x.y.example.com"],
    });
  });

  test("and keeps none of what the one before it had by the domain alone", () => {
    const mine = (name: string, isByParent: boolean) => ({ ...claim("other", name, "verified"), isByParent });
    const claims = [
      mine("example.com", false),
      mine("shop.example.com", true),
      mine("own.shop.example.com", false),
      mine("lab.example.com", false),
      mine("a.lab.example.com", true),
      { ...claim("third", "third.example.com", "verified"), isByParent: true },
    ];
    expect(verify(own, claims)).toMatchObject({
      taken: "dom_other_example.com",
      delegationsToKeep: ["lab.example.com", "third.example.com", "own.shop.example.com"],
    });
  });

  test("once; when it is verified, the answer stays yes", () => {
    expect(verify({ ...own, status: "verified" }, [], { isProven: false, nowMs: startMs * 2 })).toMatchObject(
      {
        ok: true,
      },
    );
  });
});

test("whatever is claimed and proven in whatever order, a name has one organisation", () => {
  const names = ["example.com", "dev.example.com", "a.dev.example.com"];
  const step = fc.record({
    organisationId: fc.constantFrom("one", "two", "three"),
    name: fc.constantFrom(...names),
    action: fc.constantFrom("claim" as const, "prove" as const),
    isDelegated: fc.boolean(),
    observed: fc.constantFrom(null, [], ["k-one.ns1.kule.example"]),
    afterMs: fc.constantFrom(0, claimLifetimeMs),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let claims: Claim[] = [];
      let nowMs = startMs;
      for (const { organisationId, name, action, isDelegated, observed, afterMs } of steps) {
        nowMs += afterMs;
        const own = claims.find((one) => one.name === name && one.organisationId === organisationId);
        const facts = { nowMs, claims, isDelegated, observed };
        if (action === "claim") {
          if (!decideClaim({ ...facts, organisationId, name, pendingCount: 0 }).ok) continue;
          claims = [...claims.filter((one) => one !== own), claim(organisationId, name, "pending", nowMs)];
        } else if (own !== undefined) {
          const decision = decideVerification(own, { ...facts, isProven: true });
          if (!decision.ok) continue;
          const lost = new Set([...decision.lost, decision.taken]);
          claims = claims
            .filter(({ id }) => !lost.has(id))
            .map((one) => (one === own ? { ...one, status: "verified" } : one));
        }
        const verified = claims.filter(({ status }) => status === "verified").map((one) => one.name);
        expect(new Set(verified).size).toBe(verified.length);
      }
    }),
  );
});

test("a name is an organisation's by its nearest parent, unless that leaves", () => {
  const me = { organisationId: "me", name: "a.dev.example.com" };
  const [mine, nearer] = [claim("me", "example.com", "verified"), claim("me", "dev.example.com", "verified")];
  expect(isProvenByParent(me, [mine])).toBe(true);
  expect(isProvenByParent(me, [{ ...mine, isLeaving: true }])).toBe(false);
  expect(isProvenByParent(me, [mine, { ...nearer, isLeaving: true }])).toBe(false);
  expect(isProvenByParent(me, [mine, claim("other", "dev.example.com", "verified")])).toBe(false);
  expect(isProvenByParent(me, [claim("me", "example.com", "pending")])).toBe(false);
});
