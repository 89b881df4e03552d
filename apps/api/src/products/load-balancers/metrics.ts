import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database } from "../../platform/database.ts";
import { systemQuery } from "../../platform/database.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import type { LoadBalancerDetails } from "./store.ts";

/** What its listeners have carried by the hour, also those that are removed since. */
export async function readMetrics(
  { db, query }: ApiRequest<"getLoadBalancerMetrics">,
  { organisation_id, id }: LoadBalancerDetails,
): Promise<Reply> {
  const rows = await db
    .selectFrom("load_balancer_traffic")
    .selectAll()
    .where("organisation_id", "=", organisation_id)
    .where("load_balancer_id", "=", id)
    .where("hour", ">", sql<Date>`clock_timestamp() - make_interval(hours => ${query.hours ?? 24})`)
    .orderBy("hour", "desc")
    .orderBy("listener_id")
    .limit(mostRows)
    .execute();
  const body: Schemas["LoadBalancerMetrics"] = {
    hours: rows.map((row) => ({
      hour: row.hour.toISOString(),
      listener_id: row.listener_id,
      connections: Number(row.connections),
      requests: Number(row.requests),
      errors: Number(row.errors),
      bytes_in: Number(row.bytes_in),
      bytes_out: Number(row.bytes_out),
    })),
  };
  return reply(200, body);
}

/** 168 hours of 32 listeners, and as many that were removed. */
const mostRows = 10_752;

const keptDays = 32;

/** Deletes what is older than anybody can ask for. @returns how many rows */
export async function deleteOldTraffic(db: Database): Promise<number> {
  const { numDeletedRows } = await systemQuery(db, "the clean-up is of no one organisation")
    .deleteFrom("load_balancer_traffic")
    .where("hour", "<", sql<Date>`clock_timestamp() - make_interval(days => ${keptDays})`)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
