import { findDelegation } from "@kule/dns/resolve";
import { compareDelegation } from "@kule/rules/domains/delegation";
import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { inTurns } from "../../platform/in-turns.ts";
import { observedOf } from "./check-domain.ts";
import type { DomainRow } from "./store.ts";

/** How many one run looks at; the next one continues. */
const mostAtOnce = 50;
const atTheSameTime = 10;

/**
 * Asks where the parents of proven domains delegate them to: a right delegation once a day, any other every ten minutes in
 * the first day and every hour later.
 *
 * @returns how many were looked at
 */
export async function lookAtDelegations({ db }: Pick<Deps, "db">, dns: DnsInstallation): Promise<number> {
  const due = await systemQuery(db, "the worker looks at the delegations of all organisations' domains")
    .selectFrom("domain")
    .select(["id", "organisation_id", "name", "name_servers"])
    .where("is_verified", "=", true)
    .where("status", "<>", "deleting")
    .where((is) =>
      is.or([
        is("delegation_checked_at", "is", null),
        sql<boolean>`delegation_checked_at < clock_timestamp() - case
          when delegation_state = 'right' then interval '1 day'
          when verified_at > clock_timestamp() - interval '1 day' then interval '10 minutes'
          else interval '1 hour' end`,
      ]),
    )
    .orderBy(sql`delegation_checked_at nulls first`)
    .limit(mostAtOnce)
    .execute();
  await inTurns(due, atTheSameTime, async (domain) => {
    const found = observedOf(await findDelegation(domain.name, dns.resolving));
    await noteDelegation(db, domain, found);
  });
  return due.length;
}

/** @param observed null: the parent could not be asked, and what was seen before stays */
async function noteDelegation(
  db: Database,
  domain: Pick<DomainRow, "id" | "organisation_id" | "name_servers">,
  observed: readonly string[] | null,
): Promise<void> {
  const { state, observed: names } = compareDelegation(observed, domain.name_servers);
  await db
    .updateTable("domain")
    .set({
      delegation_checked_at: sql<Date>`clock_timestamp()`,
      ...(observed === null ? {} : { delegation_state: state, delegation_observed: [...names] }),
    })
    .where("organisation_id", "=", domain.organisation_id)
    .where("id", "=", domain.id)
    .execute();
}
