import { type DnsProof, dnsProofOf } from "@kule/rules/certificates/dns-proof";
import type { ProofProblem } from "@kule/rules/certificates/proof-problem";
import type { Database, Tx } from "../../platform/database.ts";
import { readProvingDomains } from "../domains/index.ts";
import type { CertificateHooks } from "./hooks.ts";
import type { CertificateRow } from "./store.ts";

type Managed = Pick<CertificateRow, "organisation_id" | "region" | "domain_names" | "challenge">;

/**
 * How each name of a managed certificate is proven, and what stands in the way before the CA is asked.
 *
 * @param caIdentities names by which CAA records allow the CA; none where they are not known
 */
export async function proofsOf(
  db: Database | Tx,
  certificate: Managed,
  hooks: readonly CertificateHooks[],
  caIdentities: readonly string[] = [],
): Promise<DnsProof[]> {
  const { organisation_id: organisationId, domain_names: names } = certificate;
  if (certificate.challenge === "dns") {
    const domains = await readProvingDomains(db, organisationId, names);
    return names.map((name) => dnsProofOf(name, domains, caIdentities));
  }
  const problems = await httpProblems(db, certificate, hooks);
  return names.map((name) => ({
    name,
    domainId: null,
    recordName: null,
    problem: problems.get(name) ?? null,
  }));
}

/** Of the names that nothing in the region answers for. */
async function httpProblems(
  db: Database | Tx,
  { organisation_id, region, domain_names }: Managed,
  hooks: readonly CertificateHooks[],
): Promise<ReadonlyMap<string, ProofProblem>> {
  const answered = new Set<string>();
  for (const { answersOverHttp } of hooks)
    for (const name of (await answersOverHttp?.(db, organisation_id, region, domain_names)) ?? [])
      answered.add(name);
  return new Map(
    domain_names
      .filter((name) => !answered.has(name))
      .map((name) => [
        name,
        {
          code: "no_load_balancer",
          message: `No load balancer of region ${region} has an http listener on port 80 that answers for ${name}`,
        },
      ]),
  );
}
