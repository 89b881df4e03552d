// DNS messages from name servers that nobody vouches for. dns-packet reads them; what it does not limit is checked before.

import { type DecodedPacket, decode, encode, type RecordType } from "dns-packet";

/** What Kule asks for. */
export type QuestionType =
  | "A"
  | "AAAA"
  | "CAA"
  | "CNAME"
  | "DNSKEY"
  | "DS"
  | "MX"
  | "NS"
  | "PTR"
  | "SOA"
  | "SRV"
  | "SSHFP"
  | "TLSA"
  | "TXT"
  | "ANY"
  | "AXFR";

export interface Question {
  /** Absolute. */
  readonly name: string;
  readonly type: QuestionType;
}

/** What fits into a datagram on any network without fragments (DNS flag day 2020). */
export const UDP_PAYLOAD_BYTES = 1_232;
const HEADER_BYTES = 12;
/** No answer that Kule asks for has nearly as many; 64 KiB could hold 5,900. */
const MAX_RECORDS = 2_000;
/** A chain of pointers costs the sender two bytes a step, and the reader a step for each name that ends in it. */
const MAX_POINTERS_IN_NAME = 32;
const MAX_NAME_BYTES = 255;

/** Bytes of a query. `ednsVersion` is left out for servers that do not know EDNS. */
export function encodeQuery(
  id: number,
  question: Question,
  options: { readonly recursionDesired: boolean; readonly edns: boolean },
): Buffer {
  return encode({
    type: "query",
    id,
    flags: options.recursionDesired ? 1 << 8 : 0,
    questions: [{ type: question.type as RecordType, name: question.name, class: "IN" }],
    additionals: options.edns
      ? [
          {
            type: "OPT",
            name: ".",
            udpPayloadSize: UDP_PAYLOAD_BYTES,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ]
      : [],
  });
}

/** True when `answer` is a response with the id and the question of `query`, both as bytes; letters in any case. */
export function answersQuery(answer: Buffer, query: Buffer): boolean {
  if (answer.length < HEADER_BYTES || answer.readUInt16BE(0) !== query.readUInt16BE(0)) return false;
  if (((answer[2] ?? 0) & 0x80) === 0 || answer.readUInt16BE(4) !== 1) return false;
  const end = questionEnd(query);
  if (answer.length < end) return false;
  // The length bytes of labels are below 64, so that lower-casing Latin letters leaves them alone.
  const text = (bytes: Buffer): string => bytes.toString("latin1", HEADER_BYTES, end).toLowerCase();
  return text(answer) === text(query);
}

/** Null when it is not a whole message within our limits. Names that are not printable ASCII count as that too. */
export function decodeMessage(bytes: Buffer): DecodedPacket | null {
  if (!isWithinLimits(bytes)) return null;
  try {
    const message = decode(bytes);
    // An SSHFP of unknown kind makes dns-packet lose its place without an exception.
    return Number.isInteger(decode.bytes) && decode.bytes <= bytes.length ? message : null;
  } catch {
    return null;
  }
}

function questionEnd(query: Buffer): number {
  let offset = HEADER_BYTES;
  while ((query[offset] ?? 0) !== 0) offset += 1 + (query[offset] ?? 0);
  return offset + 5;
}

/** Offsets in RDATA at which names begin, for the types whose names dns-packet follows. */
const NAMES_IN_DATA: Readonly<Record<number, { readonly at: number; readonly names: number }>> = {
  2: { at: 0, names: 1 }, // NS
  5: { at: 0, names: 1 }, // CNAME
  6: { at: 0, names: 2 }, // SOA
  12: { at: 0, names: 1 }, // PTR
  15: { at: 2, names: 1 }, // MX
  17: { at: 0, names: 2 }, // RP
  33: { at: 6, names: 1 }, // SRV
  39: { at: 0, names: 1 }, // DNAME
  46: { at: 18, names: 1 }, // RRSIG
  47: { at: 0, names: 1 }, // NSEC
};

function isWithinLimits(bytes: Buffer): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  const questions = bytes.readUInt16BE(4);
  const records = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10);
  if (questions > 1 || records > MAX_RECORDS) return false;
  let offset: number | null = HEADER_BYTES;
  if (questions === 1) {
    offset = skipName(bytes, offset);
    if (offset === null) return false;
    offset += 4;
  }
  for (let index = 0; index < records; index += 1) {
    offset = skipName(bytes, offset);
    if (offset === null || offset + 10 > bytes.length) return false;
    const type = bytes.readUInt16BE(offset);
    const data = offset + 10;
    const end = data + bytes.readUInt16BE(offset + 8);
    if (end > bytes.length) return false;
    const inside = NAMES_IN_DATA[type];
    let at: number | null = data + (inside?.at ?? 0);
    for (let name = 0; name < (inside?.names ?? 0); name += 1) {
      at = skipName(bytes, at);
      if (at === null || at > end) return false;
    }
    offset = end;
  }
  return offset <= bytes.length;
}

/** The offset after the name at `start`, or null for one that is too long, points forwards or is not printable. */
function skipName(bytes: Buffer, start: number): number | null {
  let offset = start;
  let segment = start;
  let end: number | null = null;
  let length = 1;
  for (let pointers = 0; ; ) {
    const size = bytes[offset];
    if (size === undefined) return null;
    if (size === 0) return end ?? offset + 1;
    if ((size & 0xc0) === 0xc0) {
      const low = bytes[offset + 1];
      if (low === undefined) return null;
      const target = ((size & 0x3f) << 8) | low;
      pointers += 1;
      if (target >= segment || target < HEADER_BYTES || pointers > MAX_POINTERS_IN_NAME) return null;
      end ??= offset + 2;
      offset = target;
      segment = target;
      continue;
    }
    if (size > 63) return null;
    length += size + 1;
    if (length > MAX_NAME_BYTES) return null;
    for (let index = offset + 1; index <= offset + size; index += 1) {
      const character = bytes[index];
      // A dot inside of a label would read as the end of a label: "www.example" + "com" as www.example.com.
      if (character === undefined || character <= 0x20 || character >= 0x7f) return null;
      if (character === 0x2e || character === 0x5c) return null;
    }
    offset += size + 1;
  }
}
