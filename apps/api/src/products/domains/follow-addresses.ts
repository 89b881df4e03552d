import type { Database } from "../../platform/database.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem, requestDomainApply } from "./apply.ts";
import { lockDomain } from "./store.ts";

/**
 * Has the domains served anew whose record sets follow the server: its addresses have changed. A trigger of public_ip queues
 * the task that calls this, in a transaction of its own: a change of a domain locks the domain before the servers that it
 * names, and a change of an address has locked the server already.
 *
 * @returns how many domains there are
 */
export async function applyDomainsOfServer(
  db: Database,
  organisationId: string,
  serverId: string,
): Promise<number> {
  const found = await db
    .selectFrom("record_set")
    .select("domain_id")
    .distinct()
    .where("organisation_id", "=", organisationId)
    .where("server_id", "=", serverId)
    .execute();
  for (const { domain_id: id } of found)
    await inTransaction(db, async (tx) => {
      actAs(tx, organisationId);
      const domain = await lockDomain(tx, organisationId, id);
      if (domain === null || domain.status === "deleting") return;
      await requestDomainApply(tx, domain, bySystem(`addresses of ${serverId}`));
    });
  return found.length;
}
