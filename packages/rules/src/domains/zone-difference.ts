import { apexName } from "./record-name.ts";
import { isSameValues, type RecordSet, recordSetKey } from "./record-set.ts";
import { recordTypes } from "./record-types.ts";
import { readValue } from "./record-value.ts";

/** A record set as the provider has it: of any type, its values as the provider writes them. */
export type ProviderRecordSet = {
  /** Relative to the zone, in lower case; see `relativeName`. */
  readonly name: string;
  readonly type: string;
  /** In seconds. */
  readonly ttl: number;
  readonly values: readonly string[];
};

/** What the zone should be at the provider. */
export type WantedZone = {
  /** Canonical. */
  readonly name: string;
  /** With addresses instead of `auto:` values. One without values is not wanted: its server has no address. */
  readonly recordSets: readonly RecordSet[];
  /** The name servers of the apex, with their final dot. */
  readonly nameServers: readonly string[];
  /** Of the NS record set of the apex, in seconds. */
  readonly nameServerTtlSeconds: number;
};

/** A difference between what is wanted and what the provider has. */
export type Difference =
  | { readonly kind: "unexpected"; readonly found: ProviderRecordSet }
  | { readonly kind: "missing"; readonly wanted: RecordSet }
  | { readonly kind: "different"; readonly wanted: RecordSet; readonly found: ProviderRecordSet };

/** What is to be sent, in this order. */
export type ProviderChange =
  | { readonly action: "delete"; readonly name: string; readonly type: string }
  | ({ readonly action: "replace" } & RecordSet);

/** The provider writes these itself: the serial of the zone, and the keys and signatures of DNSSEC. */
const providersTypes: ReadonlySet<string> = new Set([
  "SOA",
  "DNSKEY",
  "CDNSKEY",
  "CDS",
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
]);

/**
 * How the provider's zone differs from the wanted one. With what was applied last as wanted, this is what
 * somebody else has changed (drift).
 */
export function zoneDifferences(wanted: WantedZone, present: readonly ProviderRecordSet[]): Difference[] {
  const found = new Map(
    present
      .filter(({ type }) => !providersTypes.has(type))
      .map((recordSet) => [recordSetKey(recordSet), recordSet]),
  );
  const differences: Difference[] = [];
  for (const recordSet of allWanted(wanted)) {
    const key = recordSetKey(recordSet);
    const here = found.get(key);
    found.delete(key);
    if (here === undefined) differences.push({ kind: "missing", wanted: recordSet });
    else if (!isAsWanted(recordSet, here, wanted.name))
      differences.push({ kind: "different", wanted: recordSet, found: here });
  }
  for (const recordSet of found.values()) differences.push({ kind: "unexpected", found: recordSet });
  return differences;
}

/**
 * What makes the provider's zone the wanted one. Deletes come first: the provider refuses a CNAME beside another
 * type even if the same call deletes that type later.
 */
export function providerChanges(differences: readonly Difference[]): ProviderChange[] {
  const deletes: ProviderChange[] = [];
  const replaces: ProviderChange[] = [];
  for (const difference of differences) {
    if (difference.kind === "unexpected") {
      const { name, type } = difference.found;
      deletes.push({ action: "delete", name, type });
    } else replaces.push({ action: "replace", ...difference.wanted });
  }
  return [...deletes, ...replaces];
}

function allWanted({ recordSets, nameServers, nameServerTtlSeconds }: WantedZone): RecordSet[] {
  const ofApex: RecordSet = { name: apexName, type: "NS", ttl: nameServerTtlSeconds, values: nameServers };
  return [ofApex, ...recordSets].filter(({ values }) => values.length > 0);
}

function isAsWanted(wanted: RecordSet, found: ProviderRecordSet, zone: string): boolean {
  const values = found.values.map((value) => canonical(found.type, value, zone));
  return wanted.ttl === found.ttl && isSameValues(wanted.values, values);
}

/** The provider may write the same value in another form, such as a long TXT in one string. */
function canonical(typeText: string, value: string, zone: string): string {
  const type = recordTypes.find((known) => known === typeText);
  const reading = type === undefined ? null : readValue(type, value, zone);
  return reading?.ok ? reading.value : value;
}
