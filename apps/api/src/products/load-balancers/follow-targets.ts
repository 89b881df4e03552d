import type { Database, Tx } from "../../platform/database.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem, requestApply } from "./apply.ts";
import { type LoadBalancerRow, lockLoadBalancer } from "./store.ts";
import { wantedDigest } from "./wanted-digest.ts";

/**
 * Brings the load balancers of the organisation in the region up to date with its servers, which have come, gone or changed
 * their labels, and with its certificates, whose material is another one. Triggers queue the task that calls this.
 *
 * @returns how many stand for other addresses now
 */
export async function followTargets(db: Database, organisationId: string, region: string): Promise<number> {
  const found = await db
    .selectFrom("load_balancer")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .where("is_deleting", "=", false)
    .orderBy("id")
    .execute();
  let changed = 0;
  for (const { id } of found) if (await follow(db, organisationId, id)) changed += 1;
  return changed;
}

function follow(db: Database, organisationId: string, id: string): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    actAs(tx, organisationId);
    const row = await lockLoadBalancer(tx, organisationId, id);
    if (row === null || row.is_deleting) return false;
    await dropDeleted(tx, row);
    if ((await wantedDigest(tx, row)) === row.targets_digest) return false;
    await requestApply(tx, row, bySystem("servers of the targets, or certificates"));
    return true;
  });
}

/** A target that names a server goes with it. */
async function dropDeleted(tx: Tx, { organisation_id, id }: LoadBalancerRow): Promise<void> {
  await tx
    .deleteFrom("load_balancer_target")
    .where("organisation_id", "=", organisation_id)
    .where("load_balancer_id", "=", id)
    .where("server_id", "in", (gone) =>
      gone
        .selectFrom("server")
        .select("server.id")
        .where("server.organisation_id", "=", organisation_id)
        .where("server.status", "=", "deleted"),
    )
    .execute();
}
