import type { ClientBase } from "pg";
import { type AuditKeys, macOfHead, macOfSeal, noMac, sameMac } from "./audit-keys.ts";
import { auditRowText, exactTime, longestTransaction } from "./audit-row-text.ts";
import { digestOf } from "./seal-rows.ts";

export type BreakReason =
  | "row_changed"
  | "row_removed"
  | "row_added"
  | "seal_changed"
  | "seals_removed"
  | "key_unknown";

/** A position where the trail and its seals do not agree. */
export type AuditBreak = {
  readonly reason: BreakReason;
  readonly position: string | null;
  readonly auditId: string | null;
  readonly organisationId: string | null;
  /** The row's own time, where there is a row. */
  readonly at: string | null;
};

export type Verification = {
  /** Rows until then were verified; null before the first seal. */
  readonly upTo: string | null;
  readonly sealedRows: string;
  /** The first of them, in the order of the trail. */
  readonly breaks: readonly AuditBreak[];
};

const breaksKept = 100;
const rowsPerRead = 2_000;

type HeadRow = {
  readonly position: string;
  readonly mac: Buffer;
  readonly up_to: string;
  readonly key_id: string;
  readonly head_mac: Buffer;
};
type SealRow = {
  readonly position: string;
  readonly audit_id: string;
  readonly organisation_id: string | null;
  readonly digest: Buffer;
  readonly mac: Buffer;
  readonly key_id: string;
  readonly row_text: string | null;
  readonly at: string | null;
};

/**
 * Verifies every sealed row against its seal, every seal against the one before it, and the sealed past for
 * unsealed rows. Sealing may continue concurrently: the verification ends where the head was at its
 * beginning.
 *
 * @param owner a connection of the owner of the tables
 */
export async function verifySeals(owner: ClientBase, keys: AuditKeys): Promise<Verification> {
  const breaks: AuditBreak[] = [];
  const head = (
    await owner.query<HeadRow>(
      `select position::text, mac, ${exactTime("up_to")} as up_to, key_id, head_mac from audit_seal_head`,
    )
  ).rows[0];
  const end = head?.position ?? "0";
  if (head !== undefined) breaks.push(...breaksOfHead(head, keys));

  let before: Buffer | null = noMac;
  let last = 0n;
  while (breaks.length < breaksKept) {
    const { rows } = await owner.query<SealRow>(
      `select s.position::text, s.audit_id, s.organisation_id, s.digest, s.mac, s.key_id,
              case when a.id is not null then ${auditRowText} end as row_text, ${exactTime("a.at")} as at
         from audit_seal s left join audit a on a.id = s.audit_id
        where s.position > $1 and ($2::bigint = 0 or s.position <= $2) order by s.position limit ${rowsPerRead}`,
      [String(last), end],
    );
    for (const row of rows) {
      if (BigInt(row.position) !== last + 1n) {
        breaks.push(cut(String(last + 1n)));
        before = null;
      }
      breaks.push(...breaksOfSeal(row, before, keys));
      before = row.mac;
      last = BigInt(row.position);
    }
    if (rows.length < rowsPerRead) break;
  }
  if (breaks.length < breaksKept && (last < BigInt(end) || (head === undefined && last > 0n)))
    breaks.push(cut(head === undefined ? null : String(last + 1n)));
  if (breaks.length < breaksKept) breaks.push(...(await addedRows(owner)));
  return { upTo: head?.up_to ?? null, sealedRows: String(last), breaks: breaks.slice(0, breaksKept) };
}

const cut = (position: string | null): AuditBreak => ({
  reason: "seals_removed",
  position,
  auditId: null,
  organisationId: null,
  at: null,
});

function breaksOfHead(head: HeadRow, keys: AuditKeys): AuditBreak[] {
  const secret = keys.byId.get(head.key_id);
  const { position, mac, up_to: upTo, key_id: keyId, head_mac } = head;
  if (secret !== undefined && sameMac(macOfHead(secret, { position, mac, upTo, keyId }), head_mac)) return [];
  const reason = secret === undefined ? "key_unknown" : "seal_changed";
  return [{ reason, position, auditId: null, organisationId: null, at: null }];
}

/** @param before the mac of the position before; null when that is gone and cannot be verified */
function breaksOfSeal(row: SealRow, before: Buffer | null, keys: AuditKeys): AuditBreak[] {
  const { position, audit_id: auditId, organisation_id: organisationId, digest, key_id: keyId } = row;
  const found = (reason: BreakReason): AuditBreak[] => [
    { reason, position, auditId, organisationId, at: row.at },
  ];
  const secret = keys.byId.get(keyId);
  if (secret === undefined) return found("key_unknown");
  const seal = { position, auditId, organisationId, digest, keyId };
  if (before !== null && !sameMac(macOfSeal(secret, before, seal), row.mac)) return found("seal_changed");
  if (row.row_text === null) return found("row_removed");
  return sameMac(digestOf(row.row_text), digest) ? [] : found("row_changed");
}

async function addedRows(owner: ClientBase): Promise<AuditBreak[]> {
  const { rows } = await owner.query<{ id: string; organisation_id: string | null; at: string }>(
    `select a.id, a.organisation_id, ${exactTime("a.at")} as at from audit a
      where a.at <= (select up_to - ${longestTransaction} from audit_seal_head)
        and not exists (select from audit_seal s where s.audit_id = a.id)
      order by a.at, a.id limit ${breaksKept}`,
  );
  return rows.map(({ id, organisation_id, at }) => ({
    reason: "row_added",
    position: null,
    auditId: id,
    organisationId: organisation_id,
    at,
  }));
}
