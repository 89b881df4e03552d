import { relativeName } from "../domains/record-name.ts";
import type { ProofProblem, ProofProblemCode } from "./proof-problem.ts";

/** A domain of the organisation, as far as it decides whether a name in it can be proven. */
export type ProvingDomain = {
  readonly id: string;
  readonly name: string;
  readonly isVerified: boolean;
  /** It is being deleted, or waits for it. */
  readonly isLeaving: boolean;
  readonly delegation: "unknown" | "none" | "elsewhere" | "partial" | "right";
  /** The record sets that can stand in the way: NS, CNAME and CAA, with relative names. */
  readonly recordSets: readonly {
    readonly name: string;
    readonly type: string;
    readonly values: readonly string[];
  }[];
};

export type DnsProof = {
  /** As asked for, with the star of a wildcard. */
  readonly name: string;
  readonly domainId: string | null;
  /** Of the TXT record; relative to the domain, null without one. */
  readonly recordName: string | null;
  /** What stands in the way and what to do; null: nothing that can be seen. */
  readonly problem: ProofProblem | null;
};

const problem = (code: ProofProblemCode, message: string): ProofProblem => ({ code, message });

/** The record is at the name without the star, for both. */
export const challengeName = (name: string): string =>
  `_acme-challenge.${name.startsWith("*.") ? name.slice(2) : name}`;

/** The domain in which a name lies: of several the innermost. */
export function domainOfName<Domain extends Pick<ProvingDomain, "name">>(
  name: string,
  domains: readonly Domain[],
): Domain | null {
  const bare = name.startsWith("*.") ? name.slice(2) : name;
  const around = domains.filter((domain) => bare === domain.name || bare.endsWith(`.${domain.name}`));
  return around.toSorted((one, other) => other.name.length - one.name.length)[0] ?? null;
}

/**
 * Whether a name can be proven by a record that Kule writes, before the CA is asked: an order that must fail counts at the CA.
 *
 * @param caIdentities the names by which CAA records allow the CA; none: they are not looked at
 */
export function dnsProofOf(
  name: string,
  domains: readonly ProvingDomain[],
  caIdentities: readonly string[],
): DnsProof {
  const domain = domainOfName(name, domains);
  if (domain === null)
    return {
      name,
      domainId: null,
      recordName: null,
      problem: problem(
        "domain_missing",
        `No domain of this organisation contains ${name}. Add it: POST /domains`,
      ),
    };
  const recordName = relativeName(`${challengeName(name)}.`, domain.name);
  return {
    name,
    domainId: domain.id,
    recordName,
    problem:
      recordName === null
        ? problem("domain_missing", `${name} does not lie in ${domain.name}`)
        : problemOf(name, recordName, domain, caIdentities),
  };
}

function problemOf(
  name: string,
  recordName: string,
  domain: ProvingDomain,
  caIdentities: readonly string[],
): ProofProblem | null {
  if (!domain.isVerified)
    return problem(
      "domain_not_proven",
      `${domain.name} is not proven. Prove it: POST /domains/${domain.id}/verify`,
    );
  if (domain.isLeaving)
    return problem(
      "domain_leaving",
      `${domain.name} is being deleted. Cancel that: POST /domains/${domain.id}/cancel-deletion`,
    );
  if (domain.delegation === "none" || domain.delegation === "elsewhere")
    return problem(
      "domain_elsewhere",
      `The Internet does not find ${domain.name} at Kule's name servers. Enter the domain's name_servers where it is registered`,
    );
  const at = (label: string, type: string) =>
    domain.recordSets.find((set) => set.name === label && set.type === type);
  if (at(recordName, "CNAME") !== undefined)
    return problem(
      "record_is_alias",
      `${recordName} in ${domain.name} is a CNAME, beside which no other record can be. Delete it: DELETE /domains/${domain.id}/records/${recordName}/CNAME`,
    );
  const delegated = parentsOf(recordName).find((label) => at(label, "NS") !== undefined);
  if (delegated !== undefined)
    return problem(
      "record_delegated",
      `${delegated} in ${domain.name} is delegated to other name servers. Prove ${name} there, or delete its NS record set`,
    );
  return caaProblem(name, domain, caIdentities);
}

/** `a.b.c` → `a.b.c`, `b.c`, `c`; none for the apex. */
function parentsOf(relative: string): string[] {
  if (relative === "@") return [];
  const labels = relative.split(".");
  return labels.map((_, index) => labels.slice(index).join("."));
}

/** The nearest CAA record set decides (RFC 8659); above the domain others have it, and the CA looks for itself. */
function caaProblem(
  name: string,
  domain: ProvingDomain,
  caIdentities: readonly string[],
): ProofProblem | null {
  if (caIdentities.length === 0) return null;
  const isWildcard = name.startsWith("*.");
  const relative = relativeName(`${isWildcard ? name.slice(2) : name}.`, domain.name) ?? "@";
  const nearest = [...parentsOf(relative), "@"]
    .map((label) => domain.recordSets.find((set) => set.name === label && set.type === "CAA"))
    .find((set) => set !== undefined);
  if (nearest === undefined) return null;
  const issuers = (tag: string) =>
    nearest.values.flatMap((value) => {
      const [, found, text = ""] = /^\d+\s+(\w+)\s+"?([^";]*)/.exec(value) ?? [];
      return found?.toLowerCase() === tag ? [text.trim().toLowerCase()] : [];
    });
  const wild = issuers("issuewild");
  const allowed = isWildcard && wild.length > 0 ? wild : issuers("issue");
  // A set with neither tag restricts nothing.
  if (allowed.length === 0 || allowed.some((issuer) => caIdentities.includes(issuer))) return null;
  const tag = isWildcard && wild.length > 0 ? "issuewild" : "issue";
  return problem(
    "caa_forbids",
    `A CAA record at ${nearest.name} in ${domain.name} does not allow the CA. Add a value 0 ${tag} "${caIdentities[0]}"`,
  );
}
