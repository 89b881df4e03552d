import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { inTurns } from "../../platform/in-turns.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem } from "./apply.ts";
import { lookForProof } from "./look-for-proof.ts";
import { noteNotProven, proveDomain } from "./prove-domain.ts";
import type { DomainRow } from "./store.ts";
import { noteSystemChange } from "./system-audit.ts";

/** How many one run looks for; the next one continues. */
const mostAtOnce = 50;
/** Each asks up to 80 questions, and most of the time waits. */
const atTheSameTime = 10;

/**
 * Looks for the proofs of domains that are not proven, those first that were not looked for the longest. The pause between
 * two looks at a domain is a tenth of its age, from a minute to an hour.
 *
 * @returns how many were proven
 */
export async function verifyPendingDomains({ db }: Pick<Deps, "db">, dns: DnsInstallation): Promise<number> {
  const due = await duePending(db);
  let proven = 0;
  await inTurns(due, atTheSameTime, async (domain) => {
    const proof = await lookForProof(dns, domain);
    const isDone = await inTransaction(db, async (tx) => {
      actAs(tx, domain.organisation_id);
      const by = bySystem("domain verification");
      const outcome = await proveDomain(tx, domain, proof, by);
      if (outcome.is === "refused") await noteNotProven(tx, domain, { seen: proof.seen, ends: outcome.ends });
      if (outcome.is !== "proven") return false;
      await noteSystemChange(tx, domain, {
        action: "domain.verify",
        by,
        details: { name: domain.name, job: outcome.job.id },
      });
      return true;
    });
    if (isDone) proven += 1;
  });
  return proven;
}

function duePending(db: Database): Promise<DomainRow[]> {
  return systemQuery(db, "the worker looks for the proofs of all organisations' domains")
    .selectFrom("domain")
    .selectAll()
    .where("status", "=", "pending")
    .where(
      sql<boolean>`coalesce(verification_checked_at, created_at) < clock_timestamp()
        - greatest(interval '1 minute', least(interval '1 hour', (clock_timestamp() - created_at) / 10))`,
    )
    .orderBy(sql`verification_checked_at nulls first`)
    .limit(mostAtOnce)
    .execute();
}
