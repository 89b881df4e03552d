import { createHash } from "node:crypto";
import type { ClientBase } from "pg";
import { type AuditKeys, type Head, macOfHead, macOfSeal, noMac, type Seal } from "./audit-keys.ts";
import { auditRowText, exactTime, longestTransaction } from "./audit-row-text.ts";

/** Rows of one transaction: few, so that a crash loses little and the head is never locked for long. */
export const rowsPerBatch = 500;

type UnsealedRow = {
  readonly id: string;
  readonly at: string;
  readonly organisation_id: string | null;
  readonly row_text: string;
};

/**
 * Seals the next rows of the audit trail, in one transaction. Only rows whose transaction is older than every
 * running one are sealed: a row that commits later never belongs before a sealed one.
 *
 * @param owner a connection of the owner of the tables, outside of a transaction
 * @returns how many were sealed; fewer than a batch means that nothing is left for now
 */
export async function sealRows(owner: ClientBase, keys: AuditKeys): Promise<number> {
  await owner.query("begin");
  try {
    const sealed = await sealBatch(owner, keys);
    await owner.query("commit");
    return sealed;
  } catch (error) {
    // The connection goes back to a pool.
    await owner.query("rollback").catch(() => {});
    throw error;
  }
}

async function sealBatch(owner: ClientBase, keys: AuditKeys): Promise<number> {
  // One worker seals at a time; another one finds its work done.
  await owner.query("select pg_advisory_xact_lock(7237049)");
  const head = (
    await owner.query<{ position: string; mac: Buffer }>("select position::text, mac from audit_seal_head")
  ).rows[0];
  const { rows } = await owner.query<UnsealedRow>(
    `select a.id, ${exactTime("a.at")} as at, a.organisation_id, ${auditRowText} as row_text
       from audit a
      where a.at > coalesce((select up_to - ${longestTransaction} from audit_seal_head), '-infinity')
        and age(a.xmin) > age(pg_snapshot_xmin(pg_current_snapshot())::xid)
        and not exists (select from audit_seal s where s.audit_at = a.at and s.audit_id = a.id)
      order by a.at, a.id limit $1`,
    [rowsPerBatch],
  );
  if (rows.length === 0) return 0;
  const keyId = keys.currentId;
  const secret = keys.byId.get(keyId) ?? "";
  let position = BigInt(head?.position ?? "0");
  let mac = head?.mac ?? noMac;
  const seals = rows.map((row) => {
    position += 1n;
    const seal: Seal = {
      position: String(position),
      auditId: row.id,
      auditAt: row.at,
      organisationId: row.organisation_id,
      digest: digestOf(row.row_text),
      keyId,
    };
    mac = macOfSeal(secret, mac, seal);
    return { ...seal, mac };
  });
  await owner.query(
    `insert into audit_seal (position, audit_id, audit_at, organisation_id, digest, mac, key_id)
     select *, $7 from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::bytea[], $6::bytea[])`,
    [
      seals.map((each) => each.position),
      seals.map(({ auditId }) => auditId),
      seals.map(({ auditAt }) => auditAt),
      seals.map(({ organisationId }) => organisationId),
      seals.map(({ digest }) => digest),
      seals.map((each) => each.mac),
      keyId,
    ],
  );
  await moveHead(owner, secret, { position: String(position), mac, keyId }, rows);
  return rows.length;
}

async function moveHead(
  owner: ClientBase,
  secret: string,
  reached: Omit<Head, "upTo">,
  rows: readonly UnsealedRow[],
): Promise<void> {
  // A row with a time in the future must not make the present ones too old.
  const { rows: times } = await owner.query<{ up_to: string }>(
    `select ${exactTime("greatest((select up_to from audit_seal_head), least(max(at), clock_timestamp()))")} as up_to
       from unnest($1::timestamptz[]) at`,
    [rows.map(({ at }) => at)],
  );
  const head: Head = { ...reached, upTo: times[0]?.up_to ?? "" };
  await owner.query(
    `insert into audit_seal_head (position, mac, up_to, key_id, head_mac) values ($1, $2, $3, $4, $5)
     on conflict (singleton) do update set position = excluded.position, mac = excluded.mac, up_to = excluded.up_to,
       key_id = excluded.key_id, head_mac = excluded.head_mac`,
    [head.position, head.mac, head.upTo, head.keyId, macOfHead(secret, head)],
  );
}

export function digestOf(rowText: string): Buffer {
  return createHash("sha256").update(rowText).digest();
}
