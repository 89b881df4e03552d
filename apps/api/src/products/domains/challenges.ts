import type { ProvingDomain } from "@kule/rules/certificates/dns-proof";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { type Requester, requestDomainApply } from "./apply.ts";
import { lockDomain } from "./store.ts";

/** A TXT value that a CA looks for. */
export type ChallengeRecord = {
  readonly domainId: string;
  /** Relative to the domain. */
  readonly name: string;
  /** As a record has it, in quotes. */
  readonly value: string;
};

/** The generation of a domain with which its name servers answer the values. */
export type ServedFrom = { readonly domain_id: string; readonly generation: number };

/**
 * Serves TXT values for a certificate beside the domains' own record sets, in place of those that were served for it before;
 * without any, they are removed. The certificate's row is locked.
 *
 * @returns from which generation on each domain answers them
 */
export async function setChallengeRecords(
  tx: Tx,
  organisationId: string,
  certificateId: string,
  records: readonly ChallengeRecord[],
  by: Requester,
): Promise<ServedFrom[]> {
  const before = await tx
    .selectFrom("domain_challenge")
    .select(["domain_id", "name", "value"])
    .where("organisation_id", "=", organisationId)
    .where("certificate_id", "=", certificateId)
    .execute();
  const wanted = new Map(records.map((record) => [keyOf(record), record]));
  const present = new Set(before.map(({ domain_id, ...rest }) => keyOf({ domainId: domain_id, ...rest })));
  const ids = [
    ...new Set([...records.map(({ domainId }) => domainId), ...before.map((row) => row.domain_id)]),
  ];
  const served: ServedFrom[] = [];
  // In one order everywhere, so that two certificates do not wait for each other.
  for (const id of ids.sort()) {
    const domain = await lockDomain(tx, organisationId, id);
    if (domain === null) continue;
    const own = [...wanted.values()].filter(({ domainId }) => domainId === id);
    const had = before.filter(({ domain_id }) => domain_id === id);
    const isSame = own.length === had.length && own.every((record) => present.has(keyOf(record)));
    if (!isSame) {
      await tx
        .deleteFrom("domain_challenge")
        .where("organisation_id", "=", organisationId)
        .where("certificate_id", "=", certificateId)
        .where("domain_id", "=", id)
        .execute();
      if (own.length > 0)
        await tx
          .insertInto("domain_challenge")
          .values(
            own.map(({ domainId, name, value }) => ({
              organisation_id: organisationId,
              certificate_id: certificateId,
              domain_id: domainId,
              name,
              value,
            })),
          )
          .execute();
      await requestDomainApply(tx, domain, by);
    }
    if (own.length > 0) served.push({ domain_id: id, generation: domain.generation + (isSame ? 0 : 1) });
  }
  return served;
}

const keyOf = ({ domainId, name, value }: ChallengeRecord) => JSON.stringify([domainId, name, value]);

/** Whether the name servers have each domain as it was at the generation, or later. */
export async function areServed(
  db: Database | Tx,
  organisationId: string,
  served: readonly ServedFrom[],
): Promise<boolean> {
  if (served.length === 0) return true;
  const rows = await db
    .selectFrom("domain")
    .select(["id", "observed_generation"])
    .where("organisation_id", "=", organisationId)
    .where(
      "id",
      "in",
      served.map(({ domain_id }) => domain_id),
    )
    .execute();
  const observed = new Map(rows.map(({ id, observed_generation }) => [id, observed_generation]));
  return served.every(({ domain_id, generation }) => (observed.get(domain_id) ?? -1) >= generation);
}

/** The values that a zone has beside its record sets. */
export async function challengeValues(
  tx: Tx,
  { id, organisation_id }: { readonly id: string; readonly organisation_id: string },
): Promise<{ readonly name: string; readonly values: string[] }[]> {
  const rows = await tx
    .selectFrom("domain_challenge")
    .select(["name", sql<string[]>`array_agg(distinct value order by value)`.as("values")])
    .where("organisation_id", "=", organisation_id)
    .where("domain_id", "=", id)
    .groupBy("name")
    .orderBy("name")
    .execute();
  return rows;
}

/** The organisation's domains in which any of the names lies, with what of their records can stand in the way of a proof. */
export async function readProvingDomains(
  db: Database | Tx,
  organisationId: string,
  names: readonly string[],
): Promise<ProvingDomain[]> {
  const around = new Set(
    names.flatMap((name) => {
      const labels = name.replace(/^\*\./, "").split(".");
      return labels.map((_, index) => labels.slice(index).join("."));
    }),
  );
  const domains = await db
    .selectFrom("domain")
    .select(["id", "name", "status", "is_verified", "delegation_state"])
    .where("organisation_id", "=", organisationId)
    .where(sql<boolean>`domain.name = any (${[...around]}::text[])`)
    .execute();
  if (domains.length === 0) return [];
  const sets = await db
    .selectFrom("record_set")
    .select(["domain_id", "name", "type", "values"])
    .where("organisation_id", "=", organisationId)
    .where(
      "domain_id",
      "in",
      domains.map(({ id }) => id),
    )
    .where(sql<boolean>`record_set.type in ('NS', 'CNAME', 'CAA')`)
    .where(sql<boolean>`record_set.name = any (${[...relativeNames(names, domains)]}::text[])`)
    .execute();
  return domains.map((domain) => ({
    id: domain.id,
    name: domain.name,
    isVerified: domain.is_verified === true,
    isLeaving: domain.status === "pending_deletion" || domain.status === "deleting",
    delegation: domain.delegation_state as ProvingDomain["delegation"],
    recordSets: sets.filter(({ domain_id }) => domain_id === domain.id),
  }));
}

/** Every name in a domain that decides about one of the names: itself, those above it, and where its challenge is. */
function relativeNames(names: readonly string[], domains: readonly { readonly name: string }[]): Set<string> {
  const found = new Set(["@"]);
  for (const name of names)
    for (const domain of domains) {
      const bare = name.replace(/^\*\./, "");
      if (bare !== domain.name && !bare.endsWith(`.${domain.name}`)) continue;
      const relative = bare === domain.name ? "" : bare.slice(0, -domain.name.length - 1);
      const labels = relative === "" ? [] : relative.split(".");
      for (let index = 0; index < labels.length; index += 1) found.add(labels.slice(index).join("."));
      found.add(["_acme-challenge", ...labels].join("."));
    }
  return found;
}
