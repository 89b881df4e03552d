import { type Claim, isExpired, maxPendingClaims } from "./claim.ts";
import { isInside, parentNames } from "./domain-name.ts";
import { inField, type Problem } from "./problem.ts";

export type OwnershipRule =
  | "already_yours"
  | "name_taken"
  | "parent_taken"
  | "too_many_pending"
  | "not_proven"
  | "expired";

export type ClaimFacts = {
  readonly organisationId: string;
  /** Canonical. */
  readonly name: string;
  readonly nowMs: number;
  /** Of all organisations: those of the name, of its parents and of names inside of it. Others do no harm. */
  readonly claims: readonly Claim[];
  /**
   * The nearest verified parent has an NS record set for the name, or for a name between the two. It matters only
   * when the parent is another organisation's.
   */
  readonly isDelegated: boolean;
  /** How many pending claims the organisation has, of whatever names, without expired ones. */
  readonly pendingCount: number;
};

export type ClaimDecision =
  | { readonly ok: true }
  | { readonly ok: false; readonly problem: Problem<OwnershipRule> };

/**
 * Whether an organisation may begin to claim a name. Several may: who proves it first gets it.
 *
 * Names inside of the claimed one are not told, not even their number: anybody can claim a name, and would learn
 * the domains of other organisations. They are told once the name is proven.
 */
export function decideClaim(facts: ClaimFacts): ClaimDecision {
  const { organisationId, name, claims, nowMs, pendingCount } = facts;
  const isOwn = claims.some(
    (claim) => claim.name === name && claim.organisationId === organisationId && !isExpired(claim, nowMs),
  );
  if (isOwn)
    return refused(
      "already_yours",
      `${name} is in this organisation already`,
      "Use the domain that you have",
    );
  const problem = takenProblem(facts);
  if (problem !== null) return { ok: false, problem };
  if (pendingCount >= maxPendingClaims)
    return refused(
      "too_many_pending",
      `This organisation has ${pendingCount} domains that are not proven`,
      "Prove one of them, or delete it",
    );
  return { ok: true };
}

export type VerificationFacts = Omit<ClaimFacts, "organisationId" | "name" | "pendingCount"> & {
  /** The TXT record or the delegation was seen. */
  readonly isProven: boolean;
};

export type VerificationDecision =
  | {
      readonly ok: true;
      /** Ids of the pending claims of the same name by other organisations: they end as `lost`. */
      readonly lost: readonly string[];
      /**
       * Names inside of this one that other organisations have: the new zone does not answer for them and has to
       * keep a delegation (an NS record set) of each.
       */
      readonly delegationsToKeep: readonly string[];
    }
  | {
      readonly ok: false;
      readonly problem: Problem<OwnershipRule>;
      /** How the claim ends; null: it stays pending and can be proven later. */
      readonly ends: "expired" | "lost" | null;
    };

/**
 * Whether a claim becomes verified, given all claims at this moment: others may have been proven since it was
 * made. A claim that is verified stays so.
 */
export function decideVerification(claim: Claim, facts: VerificationFacts): VerificationDecision {
  const { organisationId, name } = claim;
  const { claims, nowMs } = facts;
  const others = claims.filter((other) => other.organisationId !== organisationId);
  if (claim.status === "pending") {
    const refusal = verificationRefusal(claim, facts);
    if (refusal !== null) return refusal;
  }
  return {
    ok: true,
    lost: others
      .filter((other) => other.name === name && other.status === "pending" && !isExpired(other, nowMs))
      .map(({ id }) => id),
    delegationsToKeep: delegationsToKeep(claim, claims),
  };
}

function verificationRefusal(
  claim: Claim,
  facts: VerificationFacts,
): Extract<VerificationDecision, { ok: false }> | null {
  if (isExpired(claim, facts.nowMs))
    return {
      ...refused("expired", `${claim.name} was not proven within 7 days`, "Create the domain again"),
      ends: "expired",
    };
  const { organisationId, name } = claim;
  const problem = takenProblem({ organisationId, name, ...facts });
  if (problem !== null) return { ok: false, problem, ends: problem.rule === "name_taken" ? "lost" : null };
  if (facts.isProven) return null;
  return {
    ...refused(
      "not_proven",
      `Neither the TXT record nor the delegation of ${name} was found`,
      "Enter one of the two where the domain is registered; it may take an hour until it is seen",
    ),
    ends: null,
  };
}

/** Why the name cannot be this organisation's, whoever proves what. Does not say whose it is. */
function takenProblem({
  organisationId,
  name,
  claims,
  isDelegated,
}: Pick<ClaimFacts, "organisationId" | "name" | "claims" | "isDelegated">): Problem<OwnershipRule> | null {
  const verified = claims.filter(({ status }) => status === "verified");
  if (verified.some((claim) => claim.name === name && claim.organisationId !== organisationId))
    return inField("name", {
      rule: "name_taken",
      message: `${name} is in use by another organisation`,
      fix: "Ask the operators, if you are the owner of this domain",
    });
  // Of two parents the longer name is the nearer one, and the one whose zone answers.
  const [parent] = verified
    .filter((claim) => claim.name !== name && isInside(name, claim.name))
    .sort((one, other) => other.name.length - one.name.length);
  if (parent === undefined || parent.organisationId === organisationId || isDelegated) return null;
  return inField("name", {
    rule: "parent_taken",
    message: `${name} is inside of a domain of another organisation, which does not delegate it`,
    fix: `Ask the owner of the parent domain for an NS record set for ${name}`,
  });
}

/**
 * The highest verified names of other organisations inside of the claimed one. What is inside of another
 * verified name is delegated by that zone.
 */
function delegationsToKeep({ organisationId, name }: Claim, claims: readonly Claim[]): string[] {
  const inside = claims.filter(
    (claim) => claim.status === "verified" && claim.name !== name && isInside(claim.name, name),
  );
  // From the highest name to the deepest: whatever is inside of one that was passed is not this zone's.
  inside.sort((one, other) => one.name.length - other.name.length);
  const passed = new Set<string>();
  const highest = inside.filter((claim) => {
    const isBelow = parentsWithin(claim.name, name).some((parent) => passed.has(parent));
    if (!isBelow) passed.add(claim.name);
    return !isBelow;
  });
  return highest.filter((claim) => claim.organisationId !== organisationId).map((claim) => claim.name);
}

function parentsWithin(name: string, zone: string): string[] {
  return parentNames(name).filter((parent) => parent !== zone && isInside(parent, zone));
}

const refused = (rule: OwnershipRule, message: string, fix: string) =>
  ({ ok: false, problem: inField("name", { rule, message, fix }) }) as const;
