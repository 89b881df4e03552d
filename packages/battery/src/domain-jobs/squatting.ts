import type { TestOrganisation } from "@kule/api/testing/api-world";
import type { ServedDomainWorld } from "@kule/api/testing/served-domain-world";

/**
 * Organisations that prove the same name at the same moment, and a name inside of it.
 *
 * @returns what is wrong, as sentences
 */
export async function squattingRound(
  domains: ServedDomainWorld,
  organisations: readonly TestOrganisation[],
): Promise<string[]> {
  const name = domains.name();
  const inside = `shop.${name}`;
  const claims = await Promise.all(
    organisations.map(async (organisation, index) => {
      const wanted = index === organisations.length - 1 ? inside : name;
      const domain = await domains.addDomain(organisation.owner, { name: wanted });
      return { organisation, domain };
    }),
  );
  const proofs = new Map<string, string[]>();
  for (const { domain } of claims) {
    const { name: at = "", value = "" } = domain.verification?.record ?? {};
    proofs.set(`${at} TXT`, [...(proofs.get(`${at} TXT`) ?? []), `"${value}"`]);
  }
  await domains.register(Object.fromEntries(proofs));
  const answers = await Promise.all(
    claims.map(({ organisation, domain }) => organisation.owner.post(`/domains/${domain.id}/verify`)),
  );
  const owners = await domains.rows(
    "select organisation_id, name from domain where name = $1 and is_verified",
    [name],
  );
  const found: string[] = [];
  const unexpected = answers.filter(({ status }) => status !== 202 && status !== 409);
  for (const { status, body } of unexpected)
    found.push(`a proof of ${name} is answered ${status} ${body?.code}`);
  if (owners.length !== 1) found.push(`${name} has ${owners.length} owners`);
  const won = answers.slice(0, -1).filter(({ status }) => status === 202);
  if (won.length !== 1) found.push(`${won.length} organisations are told that ${name} is theirs`);
  // Whoever has the name has to keep a delegation of what another organisation has inside of it.
  const [both] = await domains.rows(
    `select parent.kept_delegations from domain parent join domain child on child.name = $2 and child.is_verified
      where parent.name = $1 and parent.is_verified`,
    [name, inside],
  );
  const kept = (both?.kept_delegations ?? [inside]) as readonly string[];
  if (!kept.includes(inside))
    found.push(`${name} and ${inside} are proven, and one does not delegate the other`);
  // An organisation has a limited number of claims that it has not proven.
  await Promise.all(
    claims.map(async ({ organisation, domain }, index) => {
      if (answers[index]?.status === 202) return;
      const { status, body } = await organisation.owner.delete(`/domains/${domain.id}`);
      if (status !== 204)
        found.push(`the claim of ${name} that lost is deleted with ${status} ${body?.code}`);
    }),
  );
  return found;
}
