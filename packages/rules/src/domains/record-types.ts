import { flawed, type Reading, readAs, shown } from "./problem.ts";

/** The types that users set. SOA and the NS record set of the apex belong to Kule. */
export const recordTypes = [
  "A",
  "AAAA",
  "CNAME",
  "MX",
  "TXT",
  "NS",
  "SRV",
  "CAA",
  "PTR",
  "TLSA",
  "SSHFP",
] as const;

export type RecordType = (typeof recordTypes)[number];
export type RecordTypeRule = "soa" | "unsupported_type";

const instead = new Map([
  ["SPF", "Use TXT: the type SPF is obsolete (RFC 7208)"],
  ["ALIAS", "Use A and AAAA; the value auto:srv_… follows the addresses of a server"],
  ["ANAME", "Use A and AAAA; the value auto:srv_… follows the addresses of a server"],
  ["DNAME", "Use a wildcard CNAME such as *.dev"],
]);

/** Reads a type in either case. */
export function readRecordType(text: string): Reading<RecordType, RecordTypeRule> {
  const wanted = text.slice(0, 20).toUpperCase();
  const type = recordTypes.find((known) => known === wanted);
  if (type !== undefined) return readAs(type);
  if (wanted === "SOA")
    return flawed(
      "soa",
      "The SOA record belongs to Kule, which counts its serial",
      "Leave out the SOA record",
    );
  return flawed(
    "unsupported_type",
    `The type ${shown(text)} is not supported`,
    instead.get(wanted) ?? `Use one of ${recordTypes.join(", ")}`,
  );
}
