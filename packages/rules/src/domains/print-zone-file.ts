import { referencedServer } from "./address-values.ts";
import { apexName } from "./record-name.ts";
import type { RecordSet } from "./record-set.ts";
import { recordTypes } from "./record-types.ts";

/** What Kule writes itself at the apex of the zone. */
export type PrintedZone = {
  /** Canonical. */
  readonly name: string;
  /** Of `$TTL`, of SOA and of the name servers, in seconds. */
  readonly defaultTtlSeconds: number;
  /** The data of the SOA record as one text; null leaves it out. */
  readonly soa: string | null;
  /** With their final dot. */
  readonly nameServers: readonly string[];
};

/**
 * Writes a zone file (RFC 1035, section 5) that name servers and `readZoneFile` read, one record a line.
 *
 * @param recordSets with addresses instead of `auto:` values; such a value becomes a comment, because no name
 * server knows it
 */
export function printZoneFile(zone: PrintedZone, recordSets: readonly RecordSet[]): string {
  const { name, defaultTtlSeconds, soa, nameServers } = zone;
  const lines = [
    `$ORIGIN ${name}.`,
    `$TTL ${defaultTtlSeconds}`,
    ...(soa === null ? [] : [recordLine(apexName, defaultTtlSeconds, "SOA", soa)]),
    ...nameServers.map((server) => recordLine(apexName, defaultTtlSeconds, "NS", server)),
    ...[...recordSets].sort(inZoneOrder).flatMap(linesOf),
  ];
  return `${lines.join("\n")}\n`;
}

function linesOf({ name, ttl, type, values }: RecordSet): string[] {
  return values.map((value) => {
    const line = recordLine(name, ttl, type, value);
    return referencedServer(value) === null ? line : `; ${line}`;
  });
}

const recordLine = (name: string, ttl: number, type: string, value: string) =>
  [name, ttl, "IN", type, value].join("\t");

/** The apex first, then a name before the names inside of it. */
function inZoneOrder(one: RecordSet, other: RecordSet): number {
  const [left, right] = [sortKey(one.name), sortKey(other.name)];
  if (left !== right) return left < right ? -1 : 1;
  return recordTypes.indexOf(one.type) - recordTypes.indexOf(other.type);
}

const sortKey = (name: string) => (name === apexName ? "" : name.split(".").reverse().join(" "));
