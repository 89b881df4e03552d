// The data of a record as text, in the form that PowerDNS has as `content` and Kule stores.

import type { Answer } from "dns-packet";
import { absoluteName } from "./dns-name.ts";

/** Null for types that Kule does not have. */
export function recordText(record: Answer): string | null {
  switch (record.type) {
    case "A":
      return record.data;
    case "AAAA":
      // RFC 5952, whatever the library's own form is.
      return new URL(`http://[${record.data}]`).hostname.slice(1, -1);
    case "CNAME":
    case "NS":
    case "PTR":
      return absoluteName(record.data);
    case "MX":
      return `${record.data.preference ?? 0} ${absoluteName(record.data.exchange)}`;
    case "SRV": {
      const { priority = 0, weight = 0, port, target } = record.data;
      return `${priority} ${weight} ${port} ${absoluteName(target)}`;
    }
    case "TXT":
      return txtParts(record.data).map(quoted).join(" ");
    case "CAA":
      return `${record.data.flags ?? 0} ${record.data.tag} ${quoted(Buffer.from(record.data.value, "utf8"))}`;
    case "TLSA": {
      const { usage, selector, matchingType, certificate } = record.data;
      return `${usage} ${selector} ${matchingType} ${certificate.toString("hex")}`;
    }
    case "SSHFP":
      return `${record.data.algorithm} ${record.data.hash} ${record.data.fingerprint.toLowerCase()}`;
    case "DS": {
      const { keyTag, algorithm, digestType, digest } = record.data;
      return `${keyTag} ${algorithm} ${digestType} ${digest.toString("hex")}`;
    }
    case "DNSKEY":
      return `${record.data.flags} 3 ${record.data.algorithm} ${record.data.key.toString("base64")}`;
    case "SOA": {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.data;
      return [absoluteName(mname), absoluteName(rname), serial, refresh, retry, expire, minimum].join(" ");
    }
    default:
      return null;
  }
}

/** What the strings of a TXT record's text say together: `"a" "b\\195\\182"` is `abö`. */
export function txtValue(content: string): string {
  const bytes: number[] = [];
  for (const [, part = ""] of content.matchAll(/"((?:[^"\\]|\\.)*)"/gs))
    for (const [, decimal, escaped, plain = ""] of part.matchAll(/\\(\d{3})|\\(.)|([^\\])/gs))
      bytes.push(decimal === undefined ? (escaped ?? plain).charCodeAt(0) & 0xff : Number(decimal) & 0xff);
  return Buffer.from(bytes).toString("utf8");
}

function txtParts(data: string | Buffer | readonly (string | Buffer)[]): Buffer[] {
  const parts = Array.isArray(data) ? data : [data];
  return parts.map((part) => (typeof part === "string" ? Buffer.from(part, "utf8") : part));
}

function quoted(bytes: Buffer): string {
  let text = '"';
  for (const byte of bytes) {
    if (byte === 0x22 || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
    else text += `\\${String(byte).padStart(3, "0")}`;
  }
  return `${text}"`;
}
