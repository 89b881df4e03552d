import { CHALLENGE_PATH, challengeRecord, challengeText } from "@kule/certificates/acme/challenge-values";
import type { Schemas } from "@kule/contract/schemas";
import { challengeName } from "@kule/rules/certificates/dns-proof";
import type { ApiRequest } from "../../platform/api-request.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { acmeThumbprint } from "./acme-account.ts";
import type { BoundedLooks } from "./bounded-looks.ts";
import type { CertificateHooks } from "./hooks.ts";
import { answersOf, findOrder } from "./order-store.ts";
import { lookFrom, proofsOf } from "./preflight.ts";
import type { CertificateDetails } from "./store.ts";
import type { WhereNamesLead } from "./where-names-lead.ts";

/** Somebody waits for the answer. */
const longestLookMs = 10_000;

/** How each name is proven, what stands in the way now, and what the CA has said of it. */
export async function getCertificateChallenges(
  { db, organisationId, deps }: ApiRequest<"getCertificateChallenges">,
  certificate: CertificateDetails,
  hooks: readonly CertificateHooks[],
  looks: BoundedLooks<WhereNamesLead>,
): Promise<Reply> {
  if (certificate.type !== "managed") return reply(200, { items: [] });
  const { acme } = deps.settings;
  const lookNow = lookFrom(deps.dns, longestLookMs);
  const look = (names: readonly string[]) => looks.look(organisationId, certificate.id, () => lookNow(names));
  const [proofs, order, thumbprint] = await Promise.all([
    proofsOf({ db, hooks, look }, certificate),
    findOrder(db, organisationId, certificate.id),
    acme === null ? null : acmeThumbprint(db, acme.file.directoryUrl),
  ]);
  const authorizations = order === null ? [] : answersOf(order).authorizations;
  const error = certificate.last_error as Schemas["CertificateError"] | null;
  const items = proofs.map((proof): Schemas["CertificateChallenge"] => {
    const { name } = proof;
    const isWildcard = name.startsWith("*.");
    const bare = isWildcard ? name.slice(2) : name;
    const asked = authorizations.find((each) => each.name === bare && each.is_wildcard === isWildcard);
    const token = asked === undefined || asked.token === "" ? null : asked.token;
    const isDns = certificate.challenge === "dns";
    const isAnswered = token !== null && thumbprint !== null;
    return {
      domain_name: name,
      challenge: isDns ? "dns" : "http",
      domain_id: proof.domainId,
      record: isDns
        ? {
            name: challengeName(name),
            type: "TXT",
            value: isAnswered ? challengeRecord(bare, token, thumbprint).value : null,
          }
        : null,
      http: isDns
        ? null
        : {
            url: token === null ? null : `http://${bare}${CHALLENGE_PATH}${token}`,
            content: isAnswered ? challengeText(token, thumbprint) : null,
            leads_to: proof.leadsTo.map(({ address, loadBalancerId }) => ({
              address,
              load_balancer_id: loadBalancerId,
            })),
          },
      ready: proof.problem === null,
      problem: proof.problem?.message ?? null,
      problem_code: proof.problem?.code ?? null,
      ca_status: asked === undefined ? null : caStatus(asked.status),
      ca_text:
        error !== null && (error.domain_name === bare || error.domain_name === name) ? error.ca_text : null,
    };
  });
  return reply(200, { items });
}

const caStatus = (status: string): Schemas["CertificateChallenge"]["ca_status"] =>
  status === "pending" || status === "valid" ? status : "invalid";
