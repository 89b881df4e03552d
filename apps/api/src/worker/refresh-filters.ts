import type { Deps } from "../platform/deps.ts";
import { newId } from "../platform/ids.ts";
import { actAs } from "../platform/mutation.ts";
import { inTransaction } from "../platform/transaction.ts";
import { refreshFilters } from "../products/firewalls/index.ts";

/**
 * Queues jobs for the servers whose rules name what has changed: labels, addresses, subnets. A second run
 * finds nothing to do.
 */
export async function refreshFiltersOf(
  { db }: Pick<Deps, "db">,
  organisationId: string,
  region: string,
): Promise<number> {
  const jobs = await inTransaction(db, async (tx) => {
    actAs(tx, organisationId);
    return refreshFilters(tx, organisationId, region, {
      requestedBy: { type: "system", id: null, name: "firewalls" },
      requestId: newId("req"),
    });
  });
  return jobs.length;
}
