// The text of a record's data, read as strictly as PowerDNS 4.7 does, with its error texts.

import { isIPv6 } from "node:net";

/** A text that PowerDNS refuses, with what it says after `Record <name>/<type> '<content>': `. */
export class ContentError extends Error {}

/** Data in dns-packet's form. `text` is what is kept and listed. */
export interface Content {
  readonly text: string;
  readonly data: unknown;
}

const PARSING = "Parsing record content (try 'pdnsutil check-zone'):";
const HOSTNAME = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+$/i;

/** @throws ContentError */
export function readContent(type: string, content: string): Content {
  const reader = new Reader(type, content);
  const read = readers[type];
  if (read === undefined)
    throw new ContentError(
      `Unknown record was stored incorrectly, need 3 fields, got ${content.split(" ").length}: ${content}`,
    );
  const { canonical, data, text } = read(reader);
  reader.expectEnd();
  // As PowerDNS: letters in another case are kept as they are.
  if (canonical !== null && canonical.toLowerCase() !== content.toLowerCase())
    throw new ContentError(`Not in expected format (parsed as '${canonical}')`);
  return { text: text ?? content, data };
}

/** True for a type that the stand-in can serve. */
export function isKnownType(type: string): boolean {
  return type in readers || type === "ANY";
}

/** For NS, MX and SRV: true when the target is no name of a host (an underscore, for example). */
export function hasOddTarget(type: string, content: string): boolean {
  if (type !== "NS" && type !== "MX" && type !== "SRV") return false;
  const target = content.slice(content.lastIndexOf(" ") + 1);
  return target !== "." && !HOSTNAME.test(target);
}

/** `canonical` null: nothing to compare. `text`: kept in place of what was given. */
interface Parsed {
  readonly canonical: string | null;
  readonly data: unknown;
  readonly text?: string;
}

const readers: Readonly<Record<string, (reader: Reader) => Parsed>> = {
  A: (reader) => {
    const address = reader.ipv4();
    return { canonical: address, data: address };
  },
  AAAA: (reader) => {
    const text = reader.rest();
    if (!isIPv6(text) || text.includes(".")) throw new ContentError("Invalid IPv6 address");
    const address = new URL(`http://[${text}]`).hostname.slice(1, -1);
    return { canonical: null, data: address, text: address };
  },
  CNAME: nameOnly,
  NS: nameOnly,
  PTR: nameOnly,
  MX: (reader) => {
    const preference = reader.integer(16);
    const exchange = reader.name();
    return { canonical: `${preference} ${exchange}`, data: { preference, exchange } };
  },
  SRV: (reader) => {
    const [priority, weight, port] = [reader.integer(16), reader.integer(16), reader.integer(16)];
    const target = reader.name();
    return { canonical: `${priority} ${weight} ${port} ${target}`, data: { priority, weight, port, target } };
  },
  TXT: (reader) => {
    const parts = reader.texts();
    const strings = parts.flatMap(unescaped);
    return {
      canonical: parts.map((part) => `"${part}"`).join(" "),
      data: strings.length > 0 ? strings : [""],
    };
  },
  CAA: (reader) => {
    const flags = reader.integer(8);
    const tag = reader.word();
    const value = reader.atEnd() ? null : reader.quoted();
    return {
      canonical: `${flags} ${tag} ${value === null ? "" : `"${value}"`}`,
      data: { flags, tag, value: Buffer.concat(unescaped(value ?? "")).toString("latin1") },
    };
  },
  TLSA: (reader) => {
    const [usage, selector, matchingType] = [reader.integer(8), reader.integer(8), reader.integer(8)];
    const hex = reader.hex();
    return {
      canonical: `${usage} ${selector} ${matchingType} ${hex}`,
      data: { usage, selector, matchingType, certificate: Buffer.from(hex, "hex") },
      text: `${usage} ${selector} ${matchingType} ${hex}`,
    };
  },
  SSHFP: (reader) => {
    const [algorithm, hash] = [reader.integer(8), reader.integer(8)];
    const hex = reader.hex();
    return {
      canonical: `${algorithm} ${hash} ${hex}`,
      data: { algorithm, hash, fingerprint: hex },
      text: `${algorithm} ${hash} ${hex}`,
    };
  },
  DS: (reader) => {
    const [keyTag, algorithm, digestType] = [reader.integer(16), reader.integer(8), reader.integer(8)];
    const hex = reader.hex();
    const text = `${keyTag} ${algorithm} ${digestType} ${hex}`;
    return { canonical: text, data: { keyTag, algorithm, digestType, digest: Buffer.from(hex, "hex") }, text };
  },
  SOA: (reader) => {
    const [mname, rname] = [reader.name(), reader.name()];
    const numbers = [0, 1, 2, 3, 4].map(() => reader.integer(32));
    const [serial, refresh, retry, expire, minimum] = numbers;
    return {
      canonical: [mname, rname, ...numbers].join(" "),
      data: { mname, rname, serial, refresh, retry, expire, minimum },
    };
  },
};

function nameOnly(reader: Reader): Parsed {
  const name = reader.name();
  return { canonical: name, data: name };
}

/** The bytes of a quoted text, in strings of at most 255, as PowerDNS sends one that is longer. */
function unescaped(text: string): Buffer[] {
  const bytes: Buffer[] = [];
  for (const [, decimal, escaped, plain = ""] of text.matchAll(/\\(\d{3})|\\(.)|([^\\]+)/gs))
    bytes.push(
      decimal === undefined ? Buffer.from(escaped ?? plain, "utf8") : Buffer.from([Number(decimal) & 255]),
    );
  const all = Buffer.concat(bytes);
  const strings: Buffer[] = [all.subarray(0, 255)];
  for (let at = 255; at < all.length; at += 255) strings.push(all.subarray(at, at + 255));
  return strings;
}

class Reader {
  private readonly type: string;
  private readonly content: string;
  private at = 0;

  constructor(type: string, content: string) {
    this.type = type;
    this.content = content;
  }

  atEnd(): boolean {
    return /^\s*$/.test(this.content.slice(this.at));
  }

  expectEnd(): void {
    if (!this.atEnd())
      throw new ContentError(
        `When parsing ${this.type} trailing data was not parsed: '${this.content.slice(this.at)}'`,
      );
  }

  rest(): string {
    const rest = this.content.slice(this.at);
    this.at = this.content.length;
    return rest;
  }

  integer(bits: number): number {
    this.skipSpaces();
    const digits = this.take(/^\d+/);
    if (digits === "")
      throw new ContentError(`${PARSING} expected digits at position ${this.at} in '${this.content}'`);
    if (Number(digits) >= 2 ** bits)
      throw new ContentError(`${PARSING} Overflow reading ${bits} bit integer from record content`);
    return Number(digits);
  }

  ipv4(): string {
    this.skipSpaces();
    const octets: number[] = [];
    for (let index = 0; index < 4; index += 1) {
      const digits = this.take(/^\d+/);
      if (digits === "")
        throw new ContentError(
          `${PARSING} while parsing IP address, expected digits at position ${this.at} in '${this.content}'`,
        );
      if (Number(digits) > 255) throw new ContentError(`${PARSING} unable to parse IP address`);
      octets.push(Number(digits));
      if (index < 3 && this.take(/^\./) === "")
        throw new ContentError(`${PARSING} unable to parse IP address, not enough dots`);
    }
    return octets.join(".");
  }

  name(): string {
    this.skipSpaces();
    const name = this.take(/^\S+/);
    if (name === ".") return name;
    if (name.startsWith(".") || name.includes(".."))
      throw new ContentError(`Found . in wrong position in DNSName ${name}`);
    if (name.split(".").some((label) => label.length > 63))
      throw new ContentError("label too long to append");
    return name.endsWith(".") ? name : `${name}.`;
  }

  word(): string {
    this.skipSpaces();
    return this.take(/^\S+/);
  }

  /** The escaped text between the quotes. */
  quoted(): string {
    this.skipSpaces();
    if (this.content[this.at] !== '"')
      throw new ContentError(
        `${PARSING} Data field in DNS should start with quote (") at position ${this.at} of '${this.content}'`,
      );
    const text = this.take(/^"(?:[^"\\]|\\.)*"/s);
    if (text === "")
      throw new ContentError(`${PARSING} Data field in DNS should end on a quote (") in '${this.content}'`);
    return text.slice(1, -1);
  }

  /** Quoted texts, and words without quotes, which PowerDNS then shows with them. */
  texts(): string[] {
    const texts: string[] = [];
    while (!this.atEnd()) {
      this.skipSpaces();
      texts.push(this.content[this.at] === '"' ? this.quoted() : this.word());
    }
    return texts;
  }

  hex(): string {
    this.skipSpaces();
    const hex = this.rest().replace(/\s/g, "");
    const odd = /[^0-9a-f]/i.exec(hex);
    if (odd !== null)
      throw new ContentError(`${PARSING} Unknown hexadecimal character '${odd[0].charCodeAt(0)}'`);
    return (hex.length % 2 === 1 ? `${hex}0` : hex).toLowerCase();
  }

  private skipSpaces(): void {
    this.take(/^\s+/);
    if (this.at >= this.content.length)
      throw new ContentError(`${PARSING} missing field at the end of record content '${this.content}'`);
  }

  private take(pattern: RegExp): string {
    const [text = ""] = pattern.exec(this.content.slice(this.at)) ?? [];
    this.at += text.length;
    return text;
  }
}
