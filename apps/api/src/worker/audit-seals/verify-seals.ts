import type { ClientBase } from "pg";
import { type AuditKeys, macOfHead, macOfSeal, macOfStart, noMac, sameMac } from "./audit-keys.ts";
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
  /** Older rows were removed by retention, which has signed it; null when none were. */
  readonly keptFrom: string | null;
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
type StartRow = {
  readonly position: string;
  readonly mac: Buffer;
  readonly removed_before: string;
  readonly key_id: string;
  readonly start_mac: Buffer;
};
type SealRow = {
  readonly position: string;
  readonly audit_id: string;
  readonly audit_at: string;
  readonly organisation_id: string | null;
  readonly digest: Buffer;
  readonly mac: Buffer;
  readonly key_id: string;
  readonly row_text: string | null;
  readonly at: string | null;
};

/**
 * Verifies, from where retention has left the seals, every sealed row against its seal, every seal against the one before it, and the sealed past for
 * unsealed rows. Sealing may continue concurrently: the verification ends where the head was at its
 * beginning. Retention may not: see the lock in verify-audit.ts.
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

  const start = await readStart(owner);
  const breaksAtStart = start === undefined ? [] : breaksOfStart(start, keys);
  breaks.push(...breaksAtStart);
  // Rows that nobody has signed away are looked for.
  const removedBefore = breaksAtStart.length === 0 ? (start?.removed_before ?? "") : "";

  let before: Buffer | null = start?.mac ?? noMac;
  let last = BigInt(start?.position ?? "0");
  while (breaks.length < breaksKept) {
    const { rows } = await owner.query<SealRow>(
      `select s.position::text, s.audit_id, ${exactTime("s.audit_at")} as audit_at, s.organisation_id, s.digest, s.mac, s.key_id,
              case when a.id is not null then ${auditRowText} end as row_text, ${exactTime("a.at")} as at
         from audit_seal s left join audit a on a.at = s.audit_at and a.id = s.audit_id
        where s.position > $1 and ($2::bigint = 0 or s.position <= $2) order by s.position limit ${rowsPerRead}`,
      [String(last), end],
    );
    for (const row of rows) {
      if (BigInt(row.position) !== last + 1n) {
        breaks.push(cut(String(last + 1n)));
        before = null;
      }
      breaks.push(...breaksOfSeal(row, { before, removedBefore }, keys));
      before = row.mac;
      last = BigInt(row.position);
    }
    if (rows.length < rowsPerRead) break;
  }
  if (breaks.length < breaksKept && (last < BigInt(end) || (head === undefined && last > 0n)))
    breaks.push(cut(head === undefined ? null : String(last + 1n)));
  if (breaks.length < breaksKept) breaks.push(...(await addedRows(owner)));
  return {
    keptFrom: removedBefore === "" ? null : removedBefore,
    upTo: head?.up_to ?? null,
    sealedRows: String(last),
    breaks: breaks.slice(0, breaksKept),
  };
}

const cut = (position: string | null): AuditBreak => ({
  reason: "seals_removed",
  position,
  auditId: null,
  organisationId: null,
  at: null,
});

async function readStart(owner: ClientBase): Promise<StartRow | undefined> {
  const { rows } = await owner.query<StartRow>(
    `select position::text, mac, ${exactTime("removed_before")} as removed_before, key_id, start_mac
       from audit_seal_start`,
  );
  return rows[0];
}

function breaksOfStart(row: StartRow, keys: AuditKeys): AuditBreak[] {
  const secret = keys.byId.get(row.key_id);
  const { position, mac, removed_before: removedBefore, key_id: keyId, start_mac } = row;
  if (secret !== undefined && sameMac(macOfStart(secret, { position, mac, removedBefore, keyId }), start_mac))
    return [];
  const reason = secret === undefined ? "key_unknown" : "seal_changed";
  return [{ reason, position, auditId: null, organisationId: null, at: null }];
}

function breaksOfHead(head: HeadRow, keys: AuditKeys): AuditBreak[] {
  const secret = keys.byId.get(head.key_id);
  const { position, mac, up_to: upTo, key_id: keyId, head_mac } = head;
  if (secret !== undefined && sameMac(macOfHead(secret, { position, mac, upTo, keyId }), head_mac)) return [];
  const reason = secret === undefined ? "key_unknown" : "seal_changed";
  return [{ reason, position, auditId: null, organisationId: null, at: null }];
}

type Known = {
  /** The mac of the position before; null when that is gone and cannot be verified. */
  readonly before: Buffer | null;
  /** Rows of older times may be gone: their month was removed, and their seal is behind one of a later month. */
  readonly removedBefore: string;
};

function breaksOfSeal(row: SealRow, { before, removedBefore }: Known, keys: AuditKeys): AuditBreak[] {
  const {
    position,
    audit_id: auditId,
    audit_at: auditAt,
    organisation_id: organisationId,
    digest,
    key_id: keyId,
  } = row;
  const found = (reason: BreakReason): AuditBreak[] => [
    { reason, position, auditId, organisationId, at: row.at },
  ];
  const secret = keys.byId.get(keyId);
  if (secret === undefined) return found("key_unknown");
  const seal = { position, auditId, auditAt, organisationId, digest, keyId };
  if (before !== null && !sameMac(macOfSeal(secret, before, seal), row.mac)) return found("seal_changed");
  if (row.row_text === null) return auditAt < removedBefore ? [] : found("row_removed");
  return sameMac(digestOf(row.row_text), digest) ? [] : found("row_changed");
}

async function addedRows(owner: ClientBase): Promise<AuditBreak[]> {
  const { rows } = await owner.query<{ id: string; organisation_id: string | null; at: string }>(
    `select a.id, a.organisation_id, ${exactTime("a.at")} as at from audit a
      where a.at <= (select up_to - ${longestTransaction} from audit_seal_head)
        and not exists (select from audit_seal s where s.audit_at = a.at and s.audit_id = a.id)
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
