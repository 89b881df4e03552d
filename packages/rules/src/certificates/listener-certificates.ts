import { inField, type Problem } from "../domains/problem.ts";
import { type CertificateStatus, isUsable } from "./status.ts";

export type ListenerCertificateRule =
  | "certificate_unknown"
  | "certificate_elsewhere"
  | "certificate_not_active"
  | "certificate_names_overlap";

export type UsableCertificate = {
  readonly id: string;
  readonly organisationId: string;
  readonly region: string;
  readonly status: CertificateStatus;
  /** Canonical. */
  readonly domainNames: readonly string[];
};

/**
 * Why a listener cannot have these certificates.
 *
 * @param found those of the ids that there are, of whatever organisation. Another organisation's reads as an absent one.
 * @param keeps ids that the listener has already: these stay in use although they have expired meanwhile
 * @param at JSON pointer of the list of ids
 */
export function listenerCertificateProblems(
  ids: readonly string[],
  found: readonly UsableCertificate[],
  place: { readonly organisationId: string; readonly region: string },
  keeps: ReadonlySet<string>,
  at = "/certificate_ids",
): Problem<ListenerCertificateRule>[] {
  const own = new Map(
    found.filter((each) => each.organisationId === place.organisationId).map((each) => [each.id, each]),
  );
  const names = new Map<string, string>();
  return ids.flatMap((id, index) => {
    const field = `${at}/${index}`;
    const certificate = own.get(id);
    if (certificate === undefined) return [unknown(field)];
    const problems: Problem<ListenerCertificateRule>[] = [];
    if (certificate.region !== place.region) problems.push(elsewhere(certificate, place.region, field));
    if (!isUsable(certificate.status) && !keeps.has(id)) problems.push(notActive(certificate, field));
    problems.push(...overlapProblems(certificate, names, field));
    return problems;
  });
}

/** The same name in two: which one answers would depend on their order, and so would what clients see at a renewal. */
function overlapProblems(
  { id, domainNames }: UsableCertificate,
  names: Map<string, string>,
  field: string,
): Problem<ListenerCertificateRule>[] {
  const shared = domainNames.find((name) => (names.get(name) ?? id) !== id);
  for (const name of domainNames) if (!names.has(name)) names.set(name, id);
  if (shared === undefined) return [];
  return [
    inField(field, {
      rule: "certificate_names_overlap",
      message: `The certificates ${names.get(shared)} and ${id} both have the name ${shared}`,
      fix: "Leave out one of the two. A wildcard and one of its names are no overlap: the exact name is taken",
    }),
  ];
}

const unknown = (field: string): Problem<ListenerCertificateRule> =>
  inField(field, {
    rule: "certificate_unknown",
    message: "There is no such certificate",
    fix: "Enter the id of a certificate of this organisation",
  });

const elsewhere = (
  { id, region }: UsableCertificate,
  wanted: string,
  field: string,
): Problem<ListenerCertificateRule> =>
  inField(field, {
    rule: "certificate_elsewhere",
    message: `${id} is in region ${region}, and its key can be opened there only`,
    fix: `Create the certificate in region ${wanted}`,
  });

function notActive({ id, status }: UsableCertificate, field: string): Problem<ListenerCertificateRule> {
  const fixes: { readonly [status in CertificateStatus]?: string } = {
    failed: `See what the CA has said: GET /certificates/${id}/challenges`,
    expired: `Renew it: POST /certificates/${id}/renew, or PUT /certificates/${id}/material`,
    needs_material: `Upload it again: PUT /certificates/${id}/material`,
  };
  return inField(field, {
    rule: "certificate_not_active",
    message: `${id} cannot be used: it is ${status}`,
    fix: fixes[status] ?? "Wait until it is active",
  });
}
