import type { UsageNote } from "../usage/record.ts";
import type { ServerRow } from "./store.ts";
import { packageOf } from "./view.ts";

/** What a usage event says of a server, as the row is now: after a resize, give it the row with the new package. */
export function serverUsage(
  server: ServerRow,
  jobId: string | null,
  source: UsageNote["source"] = "verify",
): UsageNote {
  const { vcpu, memory_mb, disk_gb } = packageOf(server.package);
  return {
    organisationId: server.organisation_id,
    region: server.region,
    resource: { type: "server", id: server.id, name: server.name },
    package: server.package,
    quantity: { vcpu, memory_mb, disk_gb },
    labels: server.labels as object,
    jobId,
    source,
  };
}
