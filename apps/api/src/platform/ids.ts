import { randomInt, randomUUIDv7 } from "node:crypto";

/** Prefixes of the identifiers that this process creates. */
export type IdPrefix =
  | "org"
  | "usr"
  | "mem"
  | "inv"
  | "tok"
  | "aud"
  | "key"
  | "net"
  | "sub"
  | "rsv"
  | "pool"
  | "rng"
  | "ip"
  | "gw"
  | "pf"
  | "fw"
  | "fwr"
  | "fwa"
  | "dom"
  | "cert"
  | "lb"
  | "lsn"
  | "tgt"
  | "srv"
  | "nic"
  | "job"
  | "rol"
  | "use"
  | "drf"
  | "con"
  | "rep"
  | "rst"
  | "hvm"
  | "wrk"
  | "psk"
  | "idn"
  | "sgn"
  | "req";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** A new identifier such as `key_06ex2v3m8n4k6q1r5s7t9w0y2z`: sortable by time, not guessable. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${newIdBody()}`;
}

/** The value of the last identifier of this process. */
let last = 0n;

/**
 * 26 characters of Crockford's base32 over a UUIDv7. Those of one process sort in the order of their
 * creation, also within a millisecond: the audit trail of a transaction is read in that order.
 */
export function newIdBody(): string {
  let value = BigInt(`0x${randomUUIDv7().replaceAll("-", "")}`);
  // By a random step, so that it cannot be guessed either.
  if (value <= last) value = last + BigInt(randomInt(1, 2 ** 47));
  last = value;
  let text = "";
  for (let index = 0; index < 26; index += 1) {
    text = alphabet[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return text;
}

const body = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/**
 * Whether text could be an identifier of that kind. Other text reads as absent and never reaches the
 * database.
 */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && body.test(text.slice(prefix.length + 1));
}
