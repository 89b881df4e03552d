import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import { newIdBody } from "./ids.ts";

/*
 * kule_<kind>_<26 characters of id>_<32 random base62 characters><6 base62 characters of CRC32>
 *
 * The id finds the row, the random part (190 bits) is the secret, and by the checksum a mistyped token is
 * refused, and a leaked one recognised, without a query. Only the SHA-256 of the whole is stored: against 190
 * random bits a slow hash would add nothing.
 */

export type TokenKind = "organisation" | "operator" | "agent" | "session";

const tagOfKind: { readonly [kind in TokenKind]: string } = {
  organisation: "pat",
  operator: "ops",
  agent: "agent",
  session: "ses",
};

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** For secret scanners: the form of a Kule token. */
export const tokenPattern =
  /^kule_(pat|ops|agent|ses)_([0-7][0-9a-hjkmnp-tv-z]{25})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

export type MintedToken = {
  readonly id: string;
  /** The whole token; shown once and never stored. */
  readonly secret: string;
  readonly hash: Buffer;
};

export function mintToken(kind: TokenKind): MintedToken {
  const id = newIdBody();
  return { id: `tok_${id}`, ...mintSecret(tagOfKind[kind], id) };
}

/** The secret, which is shown once, and the hash that is stored of it. */
export function mintSecret(tag: string, id: string): { readonly secret: string; readonly hash: Buffer } {
  const random = Array.from({ length: 32 }, () => base62[randomInt(62)]).join("");
  const secret = withChecksum(`kule_${tag}_${id}_${random}`);
  return { secret, hash: hashToken(secret) };
}

export type ParsedToken = { readonly id: string; readonly kind: TokenKind; readonly hash: Buffer };

/** The token's id and hash, or null when it cannot be one of ours (shape or checksum). */
export function parseToken(text: string): ParsedToken | null {
  const match = tokenPattern.exec(text);
  if (match === null) return null;
  const [, tag, id, , sum] = match;
  if (checksum(text.slice(0, -6)) !== sum) return null;
  const kind = (Object.keys(tagOfKind) as TokenKind[]).find((each) => tagOfKind[each] === tag);
  return kind === undefined ? null : { id: `tok_${id}`, kind, hash: hashToken(text) };
}

/** The public beginning of a token, for lists. */
export function tokenPrefix(kind: TokenKind, id: string): string {
  return `kule_${tagOfKind[kind]}_${id.slice("tok_".length)}`;
}

export function sameHash(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

export function hashToken(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The text with its checksum, which completes a token. */
export function withChecksum(start: string): string {
  return start + checksum(start);
}

/** Whether the text ends with its own checksum. */
export function hasChecksum(text: string): boolean {
  return checksum(text.slice(0, -6)) === text.slice(-6);
}

function checksum(text: string): string {
  let value = crc32(text);
  let digits = "";
  for (let index = 0; index < 6; index += 1) {
    digits = base62[value % 62] + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}
