import type { DB } from "@kule/database/generated/rows";
import { findPackage } from "@kule/rules/catalog/packages";
import type { Selectable } from "kysely";
import { ownerOfRow } from "../../platform/server-owner.ts";
import type { UsageNote } from "./record.ts";

type CountedServer = Pick<
  Selectable<DB["server"]>,
  | "id"
  | "organisation_id"
  | "region"
  | "name"
  | "package"
  | "disk_gb"
  | "labels"
  | "managed_by_type"
  | "managed_by_id"
  | "managed_by_name"
>;

/**
 * The usage event of a server, from its row as it is now: after a resize, pass the row with the new package.
 */
export function serverUsage(
  server: CountedServer,
  job: UsageNote["job"],
  source: UsageNote["source"] = "verify",
): UsageNote {
  return {
    organisationId: server.organisation_id,
    region: server.region,
    resource: { type: "server", id: server.id, name: server.name },
    managedBy: ownerOfRow(server),
    package: server.package,
    quantity: quantityOf(server),
    labels: server.labels as object,
    job,
    source,
  };
}

/** @throws Error for a slug that no package has: packages are never removed */
function quantityOf({ package: slug, disk_gb }: CountedServer) {
  const plan = findPackage(slug);
  if (plan === undefined) throw new Error(`no package ${slug}`);
  return { vcpu: plan.vcpu, memory_mb: plan.memoryMb, disk_gb: disk_gb ?? plan.diskGb };
}
