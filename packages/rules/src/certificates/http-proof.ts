import type { ProofProblem } from "./proof-problem.ts";

/** A load balancer of the organisation that has an http listener on port 80 and a public address. */
export type AnsweringBalancer = {
  readonly id: string;
  readonly region: string;
  readonly address: string;
  /** Its machines have the configuration with which they answer this installation's challenges. */
  readonly isInForce: boolean;
};

/** Where the Internet's name servers say that a name leads. */
export type SeenAddresses = { readonly ipv4: readonly string[]; readonly ipv6: readonly string[] };

export type HttpProof = {
  readonly name: string;
  /** What stands in the way; null: nothing that can be seen. */
  readonly problem: ProofProblem | null;
  readonly leadsTo: readonly { readonly address: string; readonly loadBalancerId: string | null }[];
};

/** Of a name while nothing in the region answers. */
export const unansweredProof = (name: string, region: string): HttpProof => ({
  name,
  problem: {
    code: "no_load_balancer",
    message: `No load balancer of region ${region} has an http listener on port 80 and a public address. Create one, and let ${name} lead to it`,
  },
  leadsTo: [],
});

/**
 * Whether a name can be proven over HTTP on port 80, before the CA is asked (RFC 8555 8.3).
 *
 * Every load balancer answers every token: what keeps an organisation from having a certificate issued for a name that leads to
 * another one's load balancer is this decision alone. So each address of the name must be of a load balancer of its own. It may be
 * of another region when one of the certificate's region is among them: a CA may ask at any.
 *
 * @param seen null: the name servers have not answered
 * @param balancers those of the organisation that have one of the addresses
 */
export function httpProofOf(
  name: string,
  region: string,
  seen: SeenAddresses | null,
  balancers: readonly AnsweringBalancer[],
): HttpProof {
  const of = (address: string) => balancers.find((each) => each.address === address) ?? null;
  const leadsTo = [...(seen?.ipv4 ?? []), ...(seen?.ipv6 ?? [])].map((address) => ({
    address,
    loadBalancerId: of(address)?.id ?? null,
  }));
  return { name, problem: problemOf(name, region, seen, of), leadsTo };
}

function problemOf(
  name: string,
  region: string,
  seen: SeenAddresses | null,
  of: (address: string) => AnsweringBalancer | null,
): ProofProblem | null {
  if (seen === null)
    return {
      code: "name_unresolved",
      message: `The name servers of ${name} do not say where it leads. Check its delegation`,
    };
  // CAs ask at an IPv6 address first, and load balancers have none.
  const [ipv6] = seen.ipv6;
  if (ipv6 !== undefined)
    return {
      code: "name_has_ipv6_address",
      message: `${name} leads to ${ipv6}, where a CA would ask first, and load balancers have no IPv6 address. Delete its AAAA record`,
    };
  if (seen.ipv4.length === 0)
    return {
      code: "name_without_address",
      message: `${name} has no A record. Create one with the public address of a load balancer of region ${region}`,
    };
  const strange = seen.ipv4.find((address) => of(address) === null);
  if (strange !== undefined)
    return {
      code: "name_leads_elsewhere",
      message: `${name} leads to ${strange}, which is no public address of a load balancer of this organisation with an http listener on port 80. Let it lead to one of region ${region} alone`,
    };
  const found = seen.ipv4.flatMap((address) => of(address) ?? []);
  if (found.every((each) => each.region !== region))
    return {
      code: "name_leads_elsewhere",
      message: `${name} leads to no load balancer of region ${region}. Let it lead to one`,
    };
  const behind = found.find(({ isInForce }) => !isInForce);
  if (behind === undefined) return null;
  return {
    code: "answer_not_in_force",
    message: `The load balancer ${behind.id}, to which ${name} leads, does not have the configuration yet with which it answers the CA. It gets it by itself`,
  };
}
