import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { sendAhead } from "../../platform/transaction.ts";
import type { ServerHooks } from "../servers/index.ts";
import { applyAgain, bySystem, requestApply } from "./apply.ts";
import { endIfDone } from "./end.ts";
import { observedOf } from "./settle.ts";
import { type LoadBalancerRow, lockLoadBalancer, writeLoadBalancer, writtenLoadBalancer } from "./store.ts";

/** The hooks of load balancers for servers: what the end of a job means for the one that the server belongs to. */
export const loadBalancersOfServers: ServerHooks = {
  // Before the servers' rows, as a request locks them.
  lockRelated: (tx, { organisation_id, resource_id }) => {
    sendAhead(
      tx,
      sql`select id from load_balancer
           where organisation_id = ${organisation_id}
             and id = (select managed_by_id from server
                        where server.organisation_id = ${organisation_id} and server.id = ${resource_id}
                          and managed_by_type = 'load_balancer')
             for update`,
    );
    return sql`select null::text as id where false`;
  },
  settle: async (tx) => async (server, ending) => {
    if (server.managed_by_type !== "load_balancer" || server.managed_by_id === null) return;
    await settleMachine(tx, { ...server, managed_by_id: server.managed_by_id }, ending);
  },
};

type Ending = Parameters<Awaited<ReturnType<NonNullable<ServerHooks["settle"]>>>>[1];
type OwnServer = {
  readonly id: string;
  readonly organisation_id: string;
  readonly managed_by_id: string;
};

async function settleMachine(
  tx: Tx,
  server: OwnServer,
  { job, end, settings, releasesAllocations }: Ending,
): Promise<void> {
  const row = await lockLoadBalancer(tx, server.organisation_id, server.managed_by_id);
  if (row === null) return;
  if (releasesAllocations) await leaveSlot(tx, server);
  if (row.is_deleting) {
    await endIfDone(tx, row, { settings, job });
    return;
  }
  if (job.kind === "ServerResize") await settleResize(tx, row, server, { job, end });
  if (job.kind !== "ServerCreate") return;
  if (end.status === "succeeded") await applyAgain(tx, row, bySystem(`after ${job.id}`));
  // The machines that are there are what it is now: nothing more comes by itself.
  const now = await writtenLoadBalancer(tx, row.organisation_id, row.id);
  await writeLoadBalancer(tx, row, {
    observed_generation: observedOf(now),
    ...(end.status === "succeeded" || !now.machines.some(({ server_id }) => server_id === server.id)
      ? {}
      : { failure: "apply_failed", failure_job_id: job.id }),
  });
}

/**
 * Its configuration fits its size from now on. The next machine is the worker's: it waits until this one answers again. After a
 * failure it waits for a request.
 */
async function settleResize(
  tx: Tx,
  row: LoadBalancerRow,
  { id, organisation_id }: OwnServer,
  { job, end }: Pick<Ending, "job" | "end">,
): Promise<void> {
  if (end.status !== "succeeded") {
    await writeLoadBalancer(tx, row, { resize_failure: "resize_failed", resize_job_id: job.id });
    return;
  }
  await tx
    .updateTable("load_balancer_machine")
    .set({ restarted_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisation_id)
    .where("server_id", "=", id)
    .execute();
  if (row.resize_job_id === job.id)
    await writeLoadBalancer(tx, row, { resize_failure: null, resize_job_id: null });
  await requestApply(tx, row, bySystem(`after ${job.id}`));
}

/** The server is gone. That of a machine which was replaced is in no slot any more. */
async function leaveSlot(tx: Tx, { organisation_id, id }: OwnServer): Promise<void> {
  await tx
    .updateTable("load_balancer_machine")
    .set({ server_id: null, observed_generation: 0, since: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisation_id)
    .where("server_id", "=", id)
    .execute();
}
