import type { UsageNote } from "../usage/record.ts";
import type { ServerRow } from "./store.ts";
import { quantityOf } from "./view.ts";

/** What a usage event says of a server, as the row is now: after a resize, give it the row with the new package. */
export function serverUsage(
  server: ServerRow,
  jobId: string | null,
  source: UsageNote["source"] = "verify",
): UsageNote {
  return {
    organisationId: server.organisation_id,
    region: server.region,
    resource: { type: "server", id: server.id, name: server.name },
    package: server.package,
    quantity: quantityOf(server),
    labels: server.labels as object,
    jobId,
    source,
  };
}
