import type { Database, Tx } from "../../platform/database.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem } from "./apply.ts";
import { dependentsOf } from "./dependents.ts";
import { lockOwnership } from "./ownership-store.ts";
import { removeDomain } from "./remove-domain.ts";
import { lockDomain } from "./store.ts";
import { noteSystemChange } from "./system-audit.ts";

/** What a trigger of domain tells when one has ended. */
export type EndedDomain = {
  readonly organisation_id: string;
  readonly domain_id: string;
  readonly name: string;
  readonly status: "lost" | "expired" | "deleted";
  /** It was the organisation's. */
  readonly was_proven: boolean;
};

/**
 * Notes in the audit trail that a domain has ended without a request of its organisation, and removes those inside of it
 * that were the organisation's by it alone: whoever has the parent now has them too. Their rows stay as `lost`, with their
 * record sets.
 *
 * @returns how many are being removed
 */
export async function endDomain(db: Database, ended: EndedDomain): Promise<number> {
  const { organisation_id, domain_id: id, name, status } = ended;
  return inTransaction(db, async (tx) => {
    actAs(tx, organisation_id);
    await lockOwnership(tx);
    if (status !== "deleted") await noteEnd(tx, ended, status === "lost" ? "domain.lose" : "domain.expire");
    if (!ended.was_proven) return 0;
    const dependents = await dependentsOf(tx, { id, organisation_id, name }, { isGone: true });
    let removed = 0;
    for (const dependent of dependents) {
      const domain = await lockDomain(tx, organisation_id, dependent.id);
      if (domain === null || domain.status === "deleting") continue;
      await removeDomain(tx, domain, bySystem(`${name} is ${status}`));
      await tx
        .updateTable("domain")
        .set({ ends_lost: true })
        .where("organisation_id", "=", organisation_id)
        .where("id", "=", domain.id)
        .execute();
      removed += 1;
    }
    return removed;
  });
}

/** Once: a worker that is killed after its commit leaves the task to another one. */
async function noteEnd(
  tx: Tx,
  { domain_id: id, organisation_id, name }: EndedDomain,
  action: "domain.lose" | "domain.expire",
): Promise<void> {
  const noted = await tx
    .selectFrom("audit")
    .select("id")
    .where("organisation_id", "=", organisation_id)
    .where("resource", "=", id)
    .where("action", "=", action)
    .limit(1)
    .executeTakeFirst();
  if (noted !== undefined) return;
  const by = bySystem("domain verification");
  await noteSystemChange(tx, { id, organisation_id }, { action, by, details: { name } });
}
