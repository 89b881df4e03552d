import type { ClientBase } from "pg";
import type { Deps } from "../../platform/deps.ts";
import { newId } from "../../platform/ids.ts";
import { type AuditKeys, macOfStart, noMac, type Start } from "../audit-seals/audit-keys.ts";
import { exactTime } from "../audit-seals/audit-row-text.ts";
import { alone, verifyAudit } from "../audit-seals/verify-audit.ts";
import { changedMonths } from "./changed-months.ts";
import { withoutLongWaits } from "./without-long-waits.ts";

const sealsPerStatement = 20_000;

/**
 * Removes the months of the audit trail that are over since so many days, with their seals. The trail is verified before; one
 * that is not intact stays as it is, for whoever finds out what happened. Where the seals begin now is signed, in the same
 * transaction: what else is missing is still found.
 *
 * @param worker a connection of `kule_worker`, outside of a transaction
 */
export async function removeOldAudit(
  deps: Pick<Deps, "log">,
  worker: ClientBase,
  keys: AuditKeys,
  days: number,
): Promise<void> {
  const before = await firstKeptMonth(worker, days);
  if (before !== null) {
    const { breaks } = await verifyAudit(deps, worker, keys);
    if (breaks.length > 0) {
      deps.log.error("no month of the audit trail is removed: the trail is not intact");
      return;
    }
    const months = await alone(worker, () => withoutLongWaits(() => cut(worker, keys, before)));
    if (months.length > 0) deps.log.info({ months }, "removed old entries of the audit trail");
  }
  await removeSealsBeforeStart(worker);
}

/** Null when there is no older month. */
async function firstKeptMonth(worker: ClientBase, days: number): Promise<string | null> {
  const { rows } = await worker.query<{ before: string }>(
    `select before::text from date_trunc('month', (now() - make_interval(days => $1)) at time zone 'UTC') moment,
            lateral cast(moment as date) before
      where exists (select from kule_history_months('audit') month where month < before)`,
    [days],
  );
  return rows[0]?.before ?? null;
}

/** @param before the first day of a month */
async function cut(worker: ClientBase, keys: AuditKeys, before: string): Promise<readonly string[]> {
  await worker.query("begin");
  try {
    // Nobody seals meanwhile.
    await worker.query("select pg_advisory_xact_lock(7237049)");
    const start = await startAfter(worker, keys, before);
    await moveStart(worker, keys, start);
    const months = await changedMonths(worker, "kule_remove_audit($1, $2, $3)", [
      before,
      newId("aud"),
      JSON.stringify({ before, after_position: Number(start.position) }),
    ]);
    await worker.query("commit");
    return months;
  } catch (error) {
    await worker.query("rollback").catch(() => {});
    throw error;
  }
}

/**
 * The seals are in the order in which rows were committed, so one of the month before may be behind the first one of the month:
 * the seals begin with the first one of a row that stays.
 */
async function startAfter(worker: ClientBase, keys: AuditKeys, before: string): Promise<Start> {
  const { rows } = await worker.query<{ position: string; mac: Buffer; removed_before: string }>(
    `with first_kept as (
       select position from audit_seal where audit_at >= $1::timestamptz order by position limit 1
     ), reached as (
       select position, mac from audit_seal
        where position < coalesce((select position from first_kept), 9223372036854775807)
       union all select position, mac from audit_seal_start
       union all select 0, $2::bytea
     )
     select position::text, mac, ${exactTime("$1::timestamptz")} as removed_before
       from reached order by reached.position desc limit 1`,
    [`${before}T00:00:00Z`, noMac],
  );
  const [found] = rows;
  const { position, mac, removed_before: removedBefore } = found ?? {};
  if (position === undefined || mac === undefined || removedBefore === undefined)
    throw new Error("Postgres said nothing about the seals");
  return { position, mac, removedBefore, keyId: keys.currentId };
}

async function moveStart(worker: ClientBase, keys: AuditKeys, start: Start): Promise<void> {
  await worker.query(
    `insert into audit_seal_start (position, mac, removed_before, key_id, start_mac) values ($1, $2, $3, $4, $5)
     on conflict (singleton) do update set position = excluded.position, mac = excluded.mac,
       removed_before = excluded.removed_before, key_id = excluded.key_id, start_mac = excluded.start_mac`,
    [
      start.position,
      start.mac,
      start.removedBefore,
      start.keyId,
      macOfStart(keys.byId.get(start.keyId) ?? "", start),
    ],
  );
}

/** In parts, and after the cut: the verification does not read them any more. */
async function removeSealsBeforeStart(worker: ClientBase): Promise<void> {
  for (;;) {
    const { rowCount } = await worker.query(
      `delete from audit_seal where position in (
         select position from audit_seal where position <= (select position from audit_seal_start)
          order by position limit ${sealsPerStatement})`,
    );
    if ((rowCount ?? 0) < sealsPerStatement) return;
  }
}
