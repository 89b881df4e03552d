import { createHash } from "node:crypto";
import type { Database, Tx } from "../../platform/database.ts";
import type { LoadBalancerRow } from "./store.ts";
import { resolvedTargets } from "./target-store.ts";

type Placed = Pick<LoadBalancerRow, "organisation_id" | "id" | "region" | "network_id">;

/**
 * Of what changes without a request to the load balancer: the addresses that its targets stand for, and the material of its
 * listeners' certificates. The same digest is the same to a machine.
 */
export async function wantedDigest(db: Database | Tx, loadBalancer: Placed): Promise<string> {
  const [{ targets }, versions] = await Promise.all([
    resolvedTargets(db, loadBalancer),
    certificateVersions(db, loadBalancer),
  ]);
  return createHash("sha256")
    .update(JSON.stringify([targets, versions]))
    .digest("hex");
}

function certificateVersions(db: Database | Tx, { organisation_id, id }: Placed) {
  return db
    .selectFrom("listener_certificate as use")
    .innerJoin("certificate", (join) =>
      join
        .onRef("certificate.organisation_id", "=", "use.organisation_id")
        .onRef("certificate.id", "=", "use.certificate_id"),
    )
    .select(["certificate.id", "certificate.version"])
    .distinct()
    .where("use.organisation_id", "=", organisation_id)
    .where("use.load_balancer_id", "=", id)
    .orderBy("certificate.id")
    .execute();
}
