import { dnsProofOf } from "@kule/rules/certificates/dns-proof";
import {
  type AnsweringBalancer,
  type HttpProof,
  httpProofOf,
  unansweredProof,
} from "@kule/rules/certificates/http-proof";
import type { ProofProblem } from "@kule/rules/certificates/proof-problem";
import type { Database, Tx } from "../../platform/database.ts";
import { type DnsInstallation, resolvingOf } from "../../platform/dns-installation.ts";
import { readProvingDomains } from "../domains/index.ts";
import type { CertificateHooks } from "./hooks.ts";
import type { CertificateRow } from "./store.ts";
import { type WhereNamesLead, whereNamesLead } from "./where-names-lead.ts";

type Managed = Pick<CertificateRow, "organisation_id" | "region" | "domain_names" | "challenge">;

/** How a name is proven, and what stands in the way before the CA is asked. */
export type NameProof = HttpProof & {
  /** Of a proof by a record. */
  readonly domainId: string | null;
  readonly recordName: string | null;
};

type Looking = {
  readonly db: Database;
  readonly hooks: readonly CertificateHooks[];
  /** Asks where the names lead: never in a transaction. */
  readonly look: (names: readonly string[]) => Promise<WhereNamesLead>;
};

/** For one who looks because it is its turn, as the worker does. */
export const lookFrom =
  (dns: DnsInstallation | null, withinMs: number): Looking["look"] =>
  (names) =>
    whereNamesLead(names, resolvingOf(dns), withinMs);

/** @param caIdentities names by which CAA records allow the CA; none where they are not known */
export async function proofsOf(
  looking: Looking,
  certificate: Managed,
  caIdentities: readonly string[] = [],
): Promise<NameProof[]> {
  if (certificate.challenge === "dns") return dnsProofsOf(looking.db, certificate, caIdentities);
  const proofs = await httpProofsOf(looking, certificate);
  return proofs.map((proof) => ({ ...proof, domainId: null, recordName: null }));
}

export async function dnsProofsOf(
  db: Database | Tx,
  { organisation_id, domain_names }: Managed,
  caIdentities: readonly string[] = [],
): Promise<NameProof[]> {
  const domains = await readProvingDomains(db, organisation_id, domain_names);
  return domain_names.map((name) => ({ ...dnsProofOf(name, domains, caIdentities), leadsTo: [] }));
}

/** What the Internet says of each name decides, and not a record that a domain is to have. */
async function httpProofsOf(
  { db, hooks, look }: Looking,
  { organisation_id, region, domain_names }: Managed,
): Promise<HttpProof[]> {
  const answering = async (where: { region: string } | { addresses: readonly string[] }) => {
    const found: AnsweringBalancer[] = [];
    for (const { answersOverHttp } of hooks)
      found.push(...((await answersOverHttp?.(db, organisation_id, where)) ?? []));
    return found;
  };
  // Nobody's name servers are asked about a name that nothing could answer for.
  if ((await answering({ region })).length === 0)
    return domain_names.map((name) => unansweredProof(name, region));
  const seen = await look(domain_names);
  const addresses = new Set([...seen.values()].flatMap((each) => each?.ipv4 ?? []));
  const balancers = await answering({ addresses: [...addresses] });
  return domain_names.map((name) => httpProofOf(name, region, seen.get(name) ?? null, balancers));
}

/** The first problem of those that do not pass by themselves, else the first; null when every name can be proven. */
export function firstProblem(
  proofs: readonly NameProof[],
): { readonly name: string; readonly problem: ProofProblem; readonly passes: boolean } | null {
  const problems = proofs.flatMap(({ name, problem }) =>
    problem === null ? [] : [{ name, problem, passes: problem.code === "answer_not_in_force" }],
  );
  return problems.find(({ passes }) => !passes) ?? problems[0] ?? null;
}
