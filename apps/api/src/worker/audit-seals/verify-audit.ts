import type { ClientBase } from "pg";
import type { Deps } from "../../platform/deps.ts";
import type { AuditKeys } from "./audit-keys.ts";
import { rowsPerBatch, sealRows } from "./seal-rows.ts";
import { type Verification, verifySeals } from "./verify-seals.ts";

/**
 * Seals the waiting rows, verifies the trail against its seals, and stores the findings for the API and the
 * invariants. The end of the trail is logged: a log that is stored elsewhere proves that seals were cut off
 * together with their head.
 *
 * @param owner a connection of the owner of all tables, outside of a transaction
 */
export async function verifyAudit(
  { log }: Pick<Deps, "log">,
  owner: ClientBase,
  keys: AuditKeys,
): Promise<Verification> {
  await sealAll(owner, keys);
  return alone(owner, () => verifyAlone(log, owner, keys));
}

/**
 * One worker verifies or removes at a time: rows that retention removes during a verification would be missing to it.
 * The lock is of the connection, since both are several transactions.
 */
export async function alone<Result>(owner: ClientBase, work: () => Promise<Result>): Promise<Result> {
  await owner.query("select pg_advisory_lock(7237050)");
  try {
    return await work();
  } finally {
    // A connection that is broken has no lock.
    await owner.query("select pg_advisory_unlock(7237050)").catch(() => {});
  }
}

async function verifyAlone(log: Deps["log"], owner: ClientBase, keys: AuditKeys): Promise<Verification> {
  const checkedAt = (await owner.query<{ at: string }>("select clock_timestamp()::text as at")).rows[0]?.at;
  const found = await verifySeals(owner, keys);
  await store(owner, checkedAt ?? "", found);
  const { rows } = await owner.query(
    "select position::text, encode(mac, 'hex') as mac, up_to, key_id from audit_seal_head",
  );
  if (found.breaks.length > 0)
    log.error({ first: found.breaks[0], breaks: found.breaks.length }, "the audit trail is not intact");
  log.info({ head: rows[0] ?? null }, "the audit trail was verified against its seals");
  return found;
}

export async function sealAll(owner: ClientBase, keys: AuditKeys): Promise<void> {
  while ((await sealRows(owner, keys)) === rowsPerBatch);
}

async function store(owner: ClientBase, checkedAt: string, found: Verification): Promise<void> {
  await owner.query("begin");
  try {
    await owner.query("lock table audit_verification in share row exclusive mode");
    await owner.query(
      `insert into audit_verification (checked_at, kept_from, up_to, sealed_rows) values ($1, $2, $3, $4)
       on conflict (singleton) do update set checked_at = excluded.checked_at, kept_from = excluded.kept_from,
         up_to = excluded.up_to, sealed_rows = excluded.sealed_rows`,
      [checkedAt, found.keptFrom, found.upTo, found.sealedRows],
    );
    await owner.query("delete from audit_break");
    await owner.query(
      `insert into audit_break (number, reason, position, audit_id, organisation_id, at)
       select row_number() over (), * from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::timestamptz[])`,
      [
        found.breaks.map(({ reason }) => reason),
        found.breaks.map(({ position }) => position),
        found.breaks.map(({ auditId }) => auditId),
        found.breaks.map(({ organisationId }) => organisationId),
        found.breaks.map(({ at }) => at),
      ],
    );
    await owner.query("commit");
  } catch (error) {
    await owner.query("rollback").catch(() => {});
    throw error;
  }
}
