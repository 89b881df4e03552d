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
  /** The name servers that the parent's servers say now, without final dots; null: they could not be asked. */
  readonly observed: readonly string[] | null;
};

export type VerificationDecision =
  | {
      readonly ok: true;
      /** Id of another organisation's domain of the name, which ends: the name is not delegated to it any more. */
      readonly taken: string | null;
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
      readonly ends: "expired" | null;
    };

/**
 * Whether a claim becomes verified, given all claims at this moment: others may have been proven since it was
 * made. A claim that is verified stays so.
 *
 * A name that another organisation has goes over to the one that proves it now, unless it is delegated to the other's name
 * servers: a domain that was sold, or that a former tenant has left here, must not stay with the one that had it.
 */
export function decideVerification(claim: Claim, facts: VerificationFacts): VerificationDecision {
  const { organisationId, name } = claim;
  const { claims, nowMs } = facts;
  const others = claims.filter((other) => other.organisationId !== organisationId);
  if (claim.status === "pending") {
    const refusal = verificationRefusal(claim, facts);
    if (refusal !== null) return refusal;
  }
  const taken = claim.status === "pending" ? (holderOf(claim, claims) ?? null) : null;
  // These end with the domain that is taken.
  const endsToo = (other: Claim) => other.isByParent && other.organisationId === taken?.organisationId;
  return {
    ok: true,
    taken: taken?.id ?? null,
    lost: others
      .filter((other) => other.name === name && other.status === "pending" && !isExpired(other, nowMs))
      .map(({ id }) => id),
    delegationsToKeep: delegationsToKeep(
      claim,
      claims.filter((other) => !endsToo(other)),
    ),
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
  const problem = takenProblem({ organisationId, name, ...facts }) ?? heldProblem(claim, facts);
  if (problem !== null) return { ok: false, problem, ends: null };
  return facts.isProven ? null : { ok: false, problem: notProven(name), ends: null };
}

export function notProven(name: string): Problem<OwnershipRule> {
  return inField("name", {
    rule: "not_proven",
    message: `Neither the TXT record nor the delegation of ${name} was found`,
    fix: "Enter one of the two where the domain is registered; it may take an hour until it is seen",
  });
}

/** The other organisation's domain of the name. */
function holderOf(
  { organisationId, name }: Pick<Claim, "organisationId" | "name">,
  claims: readonly Claim[],
) {
  return claims.find(
    (other) => other.status === "verified" && other.name === name && other.organisationId !== organisationId,
  );
}

/** Why the name stays with another organisation now, though it may be proven. */
function heldProblem(
  claim: Claim,
  { claims, observed }: Pick<VerificationFacts, "claims" | "observed">,
): Problem<OwnershipRule> | null {
  const holder = holderOf(claim, claims);
  // Inside of a verified domain no delegation is asked for: see insideProblem.
  if (holder === undefined || nearestParent(claim.name, claims) !== null) return null;
  const held = (message: string, fix: string) =>
    inField<OwnershipRule>("name", { rule: "name_taken", message, fix });
  if (observed === null)
    return held(
      `${claim.name} is in use by another organisation, and its delegation cannot be asked for at the moment`,
      "Verify again in a minute",
    );
  if (observed.some((name) => holder.nameServers.includes(name)))
    return held(
      `${claim.name} is delegated to the name servers of another organisation's domain`,
      "Enter the name servers of this domain where the name is registered, in place of those that are there",
    );
  return holder.isBusy ? busyProblem(claim.name) : null;
}

/** Why the name cannot be this organisation's, whoever proves what. Does not say whose it is. */
function takenProblem({
  organisationId,
  name,
  claims,
  isDelegated,
}: Pick<ClaimFacts, "organisationId" | "name" | "claims" | "isDelegated">): Problem<OwnershipRule> | null {
  const parent = nearestParent(name, claims);
  if (parent === null) return null;
  const holder = holderOf({ organisationId, name }, claims);
  // What is inside of a proven domain is decided by who has it, and the same name servers answer for both.
  if (holder !== undefined)
    return insideProblem(holder, { isOwn: parent.organisationId === organisationId, isDelegated });
  if (parent.organisationId === organisationId || isDelegated) return null;
  return inField("name", {
    rule: "parent_taken",
    message: `${name} is inside of a domain of another organisation, which does not delegate it`,
    fix: `Ask the owner of the parent domain for an NS record set for ${name}`,
  });
}

/**
 * Why a name inside of a verified domain stays with another organisation. Whoever has that domain takes the name by adding
 * it, unless an NS record set of theirs gives it away: nobody who had the domain before may keep a part of it.
 */
function insideProblem(
  { name, isBusy }: Claim,
  { isOwn, isDelegated }: { readonly isOwn: boolean; readonly isDelegated: boolean },
): Problem<OwnershipRule> | null {
  const taken = (message: string, fix: string) =>
    inField<OwnershipRule>("name", { rule: "name_taken", message, fix });
  if (!isOwn)
    return taken(
      `${name} is in use by another organisation`,
      "Ask the owner of the parent domain, who decides about it",
    );
  if (isDelegated)
    return taken(
      `${name} is in use by another organisation, and an NS record set of its parent domain delegates it`,
      `Delete the NS record set for ${name} in the parent domain first`,
    );
  return isBusy ? busyProblem(name) : null;
}

const busyProblem = (name: string) =>
  inField<OwnershipRule>("name", {
    rule: "name_taken",
    message: `${name} is in use by another organisation, whose last change is on its way to the name servers`,
    fix: "Try it again in a minute",
  });

/** The nearest verified domain that the name lies in. Of two parents the longer name is the nearer one. */
export function nearestParent(name: string, claims: readonly Claim[]): Claim | null {
  const parents = claims.filter(
    (claim) => claim.status === "verified" && claim.name !== name && isInside(name, claim.name),
  );
  return parents.sort((one, other) => other.name.length - one.name.length)[0] ?? null;
}

/**
 * Whether a name is an organisation's without a proof, as it has the parent, and keeps it. A parent that leaves proves
 * nothing: the name would be left without it.
 */
export function isProvenByParent(
  { organisationId, name }: Pick<Claim, "organisationId" | "name">,
  claims: readonly Claim[],
): boolean {
  const parent = nearestParent(name, claims);
  return parent !== null && parent.organisationId === organisationId && !parent.isLeaving;
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
