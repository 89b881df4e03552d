import type { Schemas } from "@kule/contract/schemas";
import { doubtInWords } from "@kule/rules/load-balancers/plausible-traffic";
import { serverName } from "@kule/rules/load-balancers/render/server-lines";
import { countUsage, type ListenerCounters } from "@kule/rules/load-balancers/usage";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { listenersOf } from "./listener-store.ts";
import {
  countedOf,
  type HealthGroup,
  type MachineReport,
  type MachineStatus,
  seenHealth,
  seenListeners,
  seenWorkers,
  storedCounted,
} from "./seen-state.ts";
import { resolvedTargets, targetsOf } from "./target-store.ts";

type KnownMachine = {
  readonly organisation_id: string;
  readonly load_balancer_id: string;
  readonly slot: number;
  readonly server_id: string | null;
};

/** A machine that is said to have carried more than it can have. */
type ImplausibleTraffic = {
  readonly load_balancer: string;
  readonly slot: number;
  readonly what: string;
};

/**
 * Stores what a region's agent saw of its machines. What is not a machine of that load balancer, in that slot and in that
 * region, is left out, and so is what is older than what is known.
 *
 * @returns what is news for operators
 */
export async function recordSights(
  db: Database,
  region: string,
  reports: readonly MachineReport[],
): Promise<readonly ImplausibleTraffic[]> {
  if (reports.length === 0) return [];
  const known: KnownMachine[] = await systemQuery(db, "an agent asks the machines of its region")
    .selectFrom("load_balancer_machine")
    .select(["organisation_id", "load_balancer_id", "slot", "server_id"])
    .where("region", "=", region)
    .where(
      "server_id",
      "in",
      reports.map(({ server_id }) => server_id),
    )
    .execute();
  const news: ImplausibleTraffic[] = [];
  for (const report of reports) {
    const machine = known.find(
      (each) =>
        each.load_balancer_id === report.load_balancer_id &&
        each.slot === report.slot &&
        each.server_id === report.server_id,
    );
    if (machine === undefined) continue;
    const found = await inTransaction(db, async (tx) => {
      actAs(tx, machine.organisation_id);
      return record(tx, machine, report);
    });
    if (found !== null) news.push(found);
  }
  return news;
}

/** What is found again within this time is no news. */
const newsAfterMs = 3_600_000;

async function record(
  tx: Tx,
  machine: KnownMachine,
  report: MachineReport,
): Promise<ImplausibleTraffic | null> {
  const { organisation_id, load_balancer_id } = machine;
  // First of all, as everywhere: its deletion waits, or there is nothing to record any more.
  const owner = await tx
    .selectFrom("load_balancer")
    .select(["id", "organisation_id"])
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", load_balancer_id)
    .forKeyShare()
    .executeTakeFirst();
  const madeAt = owner === undefined ? null : await whenMade(tx, machine);
  if (owner === undefined || madeAt === null) return null;
  const before = await tx
    .selectFrom("load_balancer_sight")
    .selectAll()
    .where("organisation_id", "=", organisation_id)
    .where("load_balancer_id", "=", load_balancer_id)
    .where("slot", "=", machine.slot)
    .forUpdate()
    .executeTakeFirst();
  const own = before?.server_id === report.server_id ? before : undefined;
  const now = await nowOf(tx);
  const askedAt = new Date(now.getTime() - report.asked_after_ms);
  if (own !== undefined && own.asked_at >= askedAt) return null;
  const { status } = report;
  const answeredAt =
    status === null || report.seen_after_ms === null
      ? null
      : new Date(now.getTime() - Math.min(report.seen_after_ms, report.asked_after_ms));
  const seen =
    status === null || answeredAt === null
      ? null
      : await readStatus(tx, owner, status, {
          answeredAt,
          madeAt,
          health: (own?.health as readonly HealthGroup[] | undefined) ?? [],
          counted: own?.counted ?? null,
        });
  const row = {
    server_id: report.server_id,
    asked_at: askedAt,
    answered_at: answeredAt ?? own?.answered_at ?? null,
    unanswered_asks: seen === null ? (own?.unanswered_asks ?? 0) + 1 : 0,
    // What was last known of a machine that is silent stays, with its time.
    role: seen === null ? (own?.role ?? null) : seen.role,
    connections: seen === null ? (own?.connections ?? null) : seen.connections,
    listeners: seen === null ? JSON.stringify(own?.listeners ?? []) : seen.listeners,
    health: seen === null ? JSON.stringify(own?.health ?? []) : seen.health,
    counted:
      seen === null
        ? own == null || own.counted === null
          ? null
          : JSON.stringify(own.counted)
        : seen.counted,
    // The finding is about what the region says, also of a server that the slot had before.
    implausible: seen?.implausible ?? before?.implausible ?? null,
    implausible_at: seen?.implausible == null ? (before?.implausible_at ?? null) : now,
  };
  await tx
    .insertInto("load_balancer_sight")
    .values({ organisation_id, load_balancer_id, slot: machine.slot, ...row })
    .onConflict((on) =>
      on
        .columns(["load_balancer_id", "slot"])
        .doUpdateSet(row)
        .where("load_balancer_sight.organisation_id", "=", organisation_id),
    )
    .execute();
  if (seen?.implausible == null) return null;
  const last = before?.implausible_at ?? null;
  if (last !== null && now.getTime() - last.getTime() < newsAfterMs) return null;
  return { load_balancer: load_balancer_id, slot: machine.slot, what: seen.implausible };
}

/** Null: it may have been replaced since it was read. */
async function whenMade(tx: Tx, machine: KnownMachine): Promise<Date | null> {
  const row = await tx
    .selectFrom("load_balancer_machine")
    .select("since")
    .where("organisation_id", "=", machine.organisation_id)
    .where("load_balancer_id", "=", machine.load_balancer_id)
    .where("slot", "=", machine.slot)
    .where("server_id", "=", machine.server_id)
    .executeTakeFirst();
  return row?.since ?? null;
}

async function nowOf(tx: Tx): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error("the database tells no time");
  return row.now;
}

type Owner = { readonly id: string; readonly organisation_id: string };
type Before = {
  readonly answeredAt: Date;
  readonly madeAt: Date;
  readonly health: readonly HealthGroup[];
  readonly counted: unknown;
};

/** Counts what was carried since the last reading, and returns the rest as it is stored. */
async function readStatus(tx: Tx, owner: Owner, status: MachineStatus, before: Before) {
  const [listeners, targets] = await Promise.all([listenersOf(tx, owner), targetsOf(tx, owner)]);
  const known = {
    listeners: new Set(listeners.map(({ id }) => id)),
    targets: new Set(targets.map(({ id }) => id)),
  };
  const { added, counted, doubt } = countUsage(
    countedOf(before.counted),
    { readAtMs: before.answeredAt.getTime(), workers: seenWorkers(status) },
    known.listeners,
    before.madeAt.getTime(),
  );
  for (const [listenerId, more] of added) await addTraffic(tx, owner, listenerId, before.answeredAt, more);
  return {
    role: status.role === null ? null : status.role === "master" ? "active" : "standby",
    connections: status.connections,
    listeners: JSON.stringify(seenListeners(status, known)),
    health: JSON.stringify(seenHealth(status, before.health, known)),
    counted: JSON.stringify(storedCounted(counted)),
    implausible: doubt === null ? null : doubtInWords(doubt),
  };
}

/** A guest may say any number: none may make the sum one that cannot be stored or shown. */
async function addTraffic(
  tx: Tx,
  { id, organisation_id }: Owner,
  listenerId: string,
  at: Date,
  { connections, requests, errors, bytesIn, bytesOut }: ListenerCounters,
): Promise<void> {
  const most = sql.lit(Number.MAX_SAFE_INTEGER);
  await sql`
    insert into load_balancer_traffic as t
      (organisation_id, load_balancer_id, listener_id, hour, connections, requests, errors, bytes_in, bytes_out)
    values (${organisation_id}, ${id}, ${listenerId}, date_trunc('hour', ${at}::timestamptz, 'UTC'),
            ${connections}, ${requests}, ${errors}, ${bytesIn}, ${bytesOut})
    on conflict (load_balancer_id, hour, listener_id) do update
       set connections = least(t.connections + excluded.connections, ${most}),
           requests = least(t.requests + excluded.requests, ${most}),
           errors = least(t.errors + excluded.errors, ${most}),
           bytes_in = least(t.bytes_in + excluded.bytes_in, ${most}),
           bytes_out = least(t.bytes_out + excluded.bytes_out, ${most}),
           is_metered = false
     where t.organisation_id = ${organisation_id}`.execute(tx);
}

const machinesOfCall = 20;

/** The next machines that the region's agent is to ask, with what each is to answer about. */
export async function machinesToAsk(
  db: Database,
  region: string,
  after: string | null,
): Promise<Pick<Schemas["LoadBalancerReportAck"], "machines" | "next">> {
  const [lastId, lastSlot] = readCursor(after);
  const rows = await systemQuery(db, "an agent asks the machines of its region")
    .selectFrom("load_balancer_machine as machine")
    .innerJoin("load_balancer", (join) =>
      join
        .onRef("load_balancer.organisation_id", "=", "machine.organisation_id")
        .onRef("load_balancer.id", "=", "machine.load_balancer_id"),
    )
    .innerJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "machine.organisation_id")
        .onRef("server.id", "=", "machine.server_id"),
    )
    .innerJoin("region_vmid", (join) =>
      join
        .onRef("region_vmid.server_id", "=", "server.id")
        .onRef("region_vmid.region", "=", "server.region")
        .on("region_vmid.state", "=", "used"),
    )
    .select([
      "machine.load_balancer_id",
      "machine.slot",
      "server.id as server_id",
      "region_vmid.vmid",
      "load_balancer.organisation_id",
      "load_balancer.network_id",
      "load_balancer.region",
    ])
    .where("machine.region", "=", region)
    .where(sql<boolean>`(machine.load_balancer_id, machine.slot) > (${lastId}, ${lastSlot})`)
    .where("load_balancer.is_deleting", "=", false)
    .where("server.observed_generation", ">", 0)
    .where("server.status", "not in", ["pending_deletion", "deleting", "deleted"])
    .orderBy("machine.load_balancer_id")
    .orderBy("machine.slot")
    .limit(machinesOfCall + 1)
    .execute();
  const page = rows.slice(0, machinesOfCall);
  const machines = await Promise.all(
    page.map(async (row) => {
      const owner = { ...row, id: row.load_balancer_id };
      const [listeners, { targets }] = await Promise.all([
        listenersOf(db, owner),
        resolvedTargets(db, owner),
      ]);
      return {
        load_balancer_id: row.load_balancer_id,
        slot: row.slot as 1 | 2,
        server_id: row.server_id,
        vmid: row.vmid,
        listener_ids: listeners.map(({ id }) => id),
        servers: targets.map(serverName),
      };
    }),
  );
  const last = page.at(-1);
  const hasMore = rows.length > machinesOfCall && last !== undefined;
  return { machines, next: hasMore ? `${last.load_balancer_id}.${last.slot}` : null };
}

function readCursor(after: string | null): readonly [string, number] {
  if (after === null) return ["", 0];
  const match = /^(lb_[0-9a-z]{1,40})\.([12])$/.exec(after);
  if (match === null)
    throw new Invalid([fieldError("/after", "invalid_format", "is no cursor of this call")]);
  return [match[1] ?? "", Number(match[2])];
}
