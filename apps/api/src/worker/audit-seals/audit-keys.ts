import { createHmac, timingSafeEqual } from "node:crypto";
import { BadSettings } from "../../platform/settings.ts";

/** Keys that seal the audit trail, by their ids. The first one seals; all of them verify. */
export type AuditKeys = { readonly currentId: string; readonly byId: ReadonlyMap<string, string> };

const shape = /^([a-z0-9][a-z0-9_-]{0,31}):(\S{32,200})$/;

/**
 * Reads KULE_AUDIT_KEYS, `id:secret` separated by commas. A new key is put first; an older one stays for as long as
 * there are rows that it sealed, which is for ever where KULE_KEEP_AUDIT_DAYS is not set. Null when there is none.
 *
 * @throws BadSettings
 */
export function readAuditKeys(environment: Readonly<Record<string, string | undefined>>): AuditKeys | null {
  const text = environment.KULE_AUDIT_KEYS ?? "";
  if (text.trim() === "") return null;
  const byId = new Map<string, string>();
  for (const part of text.split(",")) {
    const [, id, secret] = shape.exec(part.trim()) ?? [];
    if (id === undefined || secret === undefined || byId.has(id))
      throw new BadSettings(
        "KULE_AUDIT_KEYS must hold id:secret separated by commas, each id once, each secret of 32 to 200 characters",
      );
    byId.set(id, secret);
  }
  const [currentId = ""] = byId.keys();
  return { currentId, byId };
}

/** What a seal states of a row, and of the seals before it. */
export type Seal = {
  readonly position: string;
  readonly auditId: string;
  /** The row's time, as Postgres writes it in UTC, to the microsecond. */
  readonly auditAt: string;
  readonly organisationId: string | null;
  readonly digest: Buffer;
  readonly keyId: string;
};

/** Before the first position. */
export const noMac = Buffer.alloc(32);

export function macOfSeal(secret: string, before: Buffer, seal: Seal): Buffer {
  const { position, auditId, auditAt, organisationId, digest, keyId } = seal;
  return macOf(secret, [
    "row",
    before.toString("hex"),
    position,
    auditId,
    auditAt,
    organisationId,
    digest.toString("hex"),
    keyId,
  ]);
}

export type Head = {
  readonly position: string;
  readonly mac: Buffer;
  /** As Postgres writes it in UTC, to the microsecond. */
  readonly upTo: string;
  readonly keyId: string;
};

export function macOfHead(secret: string, { position, mac, upTo, keyId }: Head): Buffer {
  return macOf(secret, ["head", position, mac.toString("hex"), upTo, keyId]);
}

/** Where the seals begin after retention has removed what was before. */
export type Start = {
  /** The last one whose seal was removed. */
  readonly position: string;
  /** Its mac, which the first remaining seal continues. */
  readonly mac: Buffer;
  /** Rows before this time may be gone. As Postgres writes it in UTC, to the microsecond. */
  readonly removedBefore: string;
  readonly keyId: string;
};

export function macOfStart(secret: string, { position, mac, removedBefore, keyId }: Start): Buffer {
  return macOf(secret, ["start", position, mac.toString("hex"), removedBefore, keyId]);
}

export function sameMac(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function macOf(secret: string, parts: readonly (string | null)[]): Buffer {
  return createHmac("sha256", secret).update(JSON.stringify(parts)).digest();
}
