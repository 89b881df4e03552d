import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { recordUsage } from "../usage/index.ts";
import { type LoadBalancerRow, lockLoadBalancer } from "./store.ts";

/** How many load balancers one pass takes; the next one goes on. */
const atOnce = 500;
/** What an agent saw in an hour may be told some rounds after it; what comes even later is in the next event. */
const settledMinutes = 3;

/**
 * Writes the traffic of the hours that are over into usage: one event a load balancer with all that no event has yet. One that
 * fails keeps no other from being measured.
 *
 * @returns how many events were written
 * @throws the first such error, at the end of the pass
 */
export async function meterTraffic(db: Database): Promise<number> {
  const due = await systemQuery(db, "the worker measures the load balancers of all organisations")
    .selectFrom("load_balancer_traffic")
    .select(["organisation_id", "load_balancer_id"])
    .distinct()
    .where("is_metered", "=", false)
    .where("hour", "<", endOfHours)
    .limit(atOnce)
    .execute();
  let written = 0;
  const unexpected: unknown[] = [];
  for (const { organisation_id, load_balancer_id } of due) {
    try {
      const isWritten = await inTransaction(db, async (tx) => {
        actAs(tx, organisation_id);
        // Its deletion writes what is left, and then there is nothing to measure.
        const row = await lockLoadBalancer(tx, organisation_id, load_balancer_id);
        return row !== null && recordTraffic(tx, row, endOfHours);
      });
      if (isWritten) written += 1;
    } catch (error) {
      unexpected.push(error);
    }
  }
  if (unexpected.length > 0) throw unexpected[0];
  return written;
}

/** The hour that is not over yet, or may still be added to. `now()`: the same in all statements of a transaction. */
const endOfHours = sql<Date>`date_trunc('hour', now() - make_interval(mins => ${settledMinutes}), 'UTC')`;

/**
 * Writes all traffic into usage that no event has yet. The load balancer's row must be locked: what is added to an hour waits.
 *
 * @param before only of hours that began before; all hours without it
 * @returns whether there was any
 */
export async function recordTraffic(
  tx: Tx,
  { organisation_id, id, region, name, package: size, labels }: LoadBalancerRow,
  before: typeof endOfHours | null,
): Promise<boolean> {
  const left = { organisation_id, load_balancer_id: id, is_metered: false } as const;
  const isDue = before === null ? sql<boolean>`true` : sql<boolean>`hour < ${before}`;
  const measured = await tx
    .selectFrom("load_balancer_traffic")
    .select([
      sql<string>`connections - metered_connections`.as("connections"),
      sql<string>`requests - metered_requests`.as("requests"),
      sql<string>`bytes_in - metered_bytes_in`.as("bytes_in"),
      sql<string>`bytes_out - metered_bytes_out`.as("bytes_out"),
    ])
    .where((row) => row.and(left))
    .where(isDue)
    .execute();
  await tx
    .updateTable("load_balancer_traffic")
    .set((row) => ({
      is_metered: true,
      metered_connections: row.ref("connections"),
      metered_requests: row.ref("requests"),
      metered_bytes_in: row.ref("bytes_in"),
      metered_bytes_out: row.ref("bytes_out"),
    }))
    .where((row) => row.and(left))
    .where(isDue)
    .execute();
  const sumOf = (column: keyof (typeof measured)[number]) =>
    Math.min(
      Number.MAX_SAFE_INTEGER,
      measured.reduce((sum, row) => sum + Number(row[column]), 0),
    );
  const quantity = {
    connections: sumOf("connections"),
    requests: sumOf("requests"),
    bytes_in: sumOf("bytes_in"),
    bytes_out: sumOf("bytes_out"),
  };
  if (Object.values(quantity).every((value) => value === 0)) return false;
  recordUsage(tx, ["load_balancer.traffic"], {
    organisationId: organisation_id,
    region,
    resource: { type: "load_balancer", id, name },
    package: size,
    quantity,
    labels: labels as object,
    job: null,
    source: "meter",
  });
  return true;
}
