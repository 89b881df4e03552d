import type { JobKind } from "@kule/contract/schemas";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, queueJob } from "../../platform/jobs.ts";
import type { ChangeOfServer } from "./change-of-server.ts";
import type { ServerRow } from "./store.ts";

export type ServerJob = {
  readonly kind: JobKind;
  /**
   * The server's status until the job has ended; left out when the job does not change which actions are
   * possible.
   */
  readonly status?: ServerStatus;
  /** Parameters of the request that are stored nowhere else. Never secrets. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** An earlier job, which this one repairs, has done something that cannot be undone. */
  readonly irreversible?: boolean;
  /** Other changes of the server's row. */
  readonly set?: Readonly<Partial<Record<keyof ServerRow, unknown>>>;
};

/** Writes a job for a server whose row this transaction has locked, and the server's transition. */
export async function queueServerJob(
  request: Pick<ChangeOfServer, "caller" | "id">,
  tx: Tx,
  server: ServerRow,
  { kind, status, parameters, irreversible = false, set }: ServerJob,
): Promise<JobRow> {
  await tx
    .updateTable("server")
    .set({
      ...(status === undefined ? {} : { status }),
      ...(set as object | undefined),
      status_code: null,
      status_message: null,
      status_job_id: null,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
  return queueJob(tx, {
    kind,
    organisationId: server.organisation_id,
    region: server.region,
    resourceType: "server",
    resourceId: server.id,
    requestedBy: request.caller.actor,
    requestId: request.id,
    irreversible,
    ...(parameters === undefined ? {} : { parameters }),
  });
}
