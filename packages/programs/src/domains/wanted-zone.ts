import type { PayloadOf } from "@kule/contract/schemas";
import type { ProviderZone, RecordSetChange } from "@kule/dns/dns-provider";
import { absoluteName, relativeName } from "@kule/rules/domains/record-name";
import type { RecordSet } from "@kule/rules/domains/record-set";
import {
  type ProviderRecordSet,
  providerChanges,
  type WantedZone,
  zoneDifferences,
} from "@kule/rules/domains/zone-difference";

type ZonePayload = PayloadOf<"DomainApply">["zone"];

/** What makes the provider's zone the wanted one; empty when it is. Drift is found like everything else. */
export function changesTo(wanted: ZonePayload, { recordSets }: ProviderZone): readonly RecordSetChange[] {
  const differences = zoneDifferences(wantedZone(wanted), presentIn(wanted.name, recordSets));
  return providerChanges(differences).map((change) => {
    const { type } = change;
    const name = absoluteName(change.name, wanted.name);
    return change.action === "delete"
      ? { change: "delete", name, type }
      : {
          change: "replace",
          recordSet: { name, type, ttlSeconds: change.ttl, contents: change.values },
        };
  });
}

function wantedZone(zone: ZonePayload): WantedZone {
  return {
    name: zone.name,
    // The types are those that the API has checked; the contract names them by their text.
    recordSets: zone.record_sets as readonly RecordSet[],
    nameServers: zone.name_servers,
    nameServerTtlSeconds: zone.name_server_ttl,
  };
}

function presentIn(zone: string, recordSets: ProviderZone["recordSets"]): ProviderRecordSet[] {
  return recordSets.flatMap(({ name, type, ttlSeconds, contents }) => {
    const relative = relativeName(name, zone);
    // PowerDNS takes no name outside of a zone; what came into its database otherwise is not served from this zone.
    return relative === null ? [] : [{ name: relative, type, ttl: ttlSeconds, values: contents }];
  });
}

/** PowerDNS takes 2 MiB, which an installation may not have changed; what is sent has more around each change. */
const largestCallBytes = 1_500_000;

/**
 * The changes in as many calls as their size needs, almost always one: each call is applied as a whole, and raises the
 * serial. What is deleted stays in front of what replaces it.
 */
export function callsOf(changes: readonly RecordSetChange[]): RecordSetChange[][] {
  const calls: RecordSetChange[][] = [];
  let bytes = 0;
  for (const change of changes) {
    const size = bytesOf(change);
    const last = calls.at(-1);
    if (last === undefined || bytes + size > largestCallBytes) {
      calls.push([change]);
      bytes = size;
    } else {
      last.push(change);
      bytes += size;
    }
  }
  return calls;
}

/** As PowerDNS' API has it: each value is an object with two more fields. */
function bytesOf(change: RecordSetChange): number {
  const values = change.change === "replace" ? change.recordSet.contents.length : 0;
  return Buffer.byteLength(JSON.stringify(change)) + 40 * values + 60;
}
