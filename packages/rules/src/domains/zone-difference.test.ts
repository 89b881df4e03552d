import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type RecordSet, recordSetKey } from "./record-set.ts";
import { anyZone } from "./testing/sample-record-sets.ts";
import {
  type ProviderRecordSet,
  providerChanges,
  type WantedZone,
  zoneDifferences,
} from "./zone-difference.ts";

const nameServers = ["ns1.example.net.", "ns2.example.net."];
const apexNs: ProviderRecordSet = { name: "@", type: "NS", ttl: 3_600, values: nameServers };
const soa: ProviderRecordSet = { name: "@", type: "SOA", ttl: 3_600, values: ["a. b. 1 2 3 4 5"] };
const wanted = (...recordSets: RecordSet[]): WantedZone => ({
  name: "example.com",
  recordSets,
  nameServers,
  nameServerTtlSeconds: 3_600,
});
const www: RecordSet = { name: "www", type: "A", ttl: 60, values: ["192.0.2.1", "192.0.2.2"] };
const changes = (zone: WantedZone, present: ProviderRecordSet[]) =>
  providerChanges(zoneDifferences(zone, present));

describe("a provider's zone", () => {
  test("that is as wanted needs no change, whatever the provider manages itself", () => {
    const keys: ProviderRecordSet = { name: "@", type: "DNSKEY", ttl: 3_600, values: ["257 3 13 abc="] };
    expect(changes(wanted(www), [soa, keys, apexNs, { ...www, values: ["192.0.2.2", "192.0.2.1"] }])).toEqual(
      [],
    );
  });

  test("that is empty gets all, with the name servers of the apex", () => {
    expect(changes(wanted(www), [soa])).toEqual([
      { action: "replace", ...apexNs },
      { action: "replace", ...www },
    ]);
  });

  test("gets its deletes before what could not be beside them", () => {
    const cname: RecordSet = { name: "www", type: "CNAME", ttl: 60, values: ["a.example.net."] };
    expect(changes(wanted(cname), [apexNs, www])).toEqual([
      { action: "delete", name: "www", type: "A" },
      { action: "replace", ...cname },
    ]);
  });

  test("with one of 10,000 record sets changed gets one change", () => {
    const many = Array.from({ length: 10_000 }, (_, index): RecordSet => ({ ...www, name: `host-${index}` }));
    const edited = many.map((set) => (set.name === "host-77" ? { ...set, ttl: 300 } : set));
    expect(changes(wanted(...edited), [soa, apexNs, ...many])).toEqual([
      { action: "replace", ...www, name: "host-77", ttl: 300 },
    ]);
  });

  test("in another form of the same values is as wanted", () => {
    const text: RecordSet = {
      name: "t",
      type: "TXT",
      ttl: 60,
      values: [`"${"a".repeat(255)}" "${"a".repeat(45)}"`],
    };
    const cname: RecordSet = { name: "c", type: "CNAME", ttl: 60, values: ["a.example.net."] };
    expect(
      changes(wanted(text, cname), [
        apexNs,
        { ...text, values: [`"${"a".repeat(300)}"`] },
        { ...cname, values: ["A.example.NET."] },
      ]),
    ).toEqual([]);
  });

  test("loses the record set of a server that has no address any more", () => {
    expect(changes(wanted({ ...www, values: [] }), [apexNs, www])).toEqual([
      { action: "delete", name: "www", type: "A" },
    ]);
  });
});

test("what somebody else has changed is told by its kind", () => {
  const added: ProviderRecordSet = { name: "x", type: "LOC", ttl: 60, values: ["52 N 4 E 0m"] };
  const edited = { ...www, values: ["192.0.2.9"] };
  const mail: RecordSet = { name: "@", type: "MX", ttl: 60, values: ["0 ."] };
  expect(zoneDifferences(wanted(www, mail), [soa, apexNs, edited, added])).toEqual([
    { kind: "different", wanted: www, found: edited },
    { kind: "missing", wanted: mail },
    { kind: "unexpected", found: added },
  ]);
});

test("the changes make any zone the wanted one, and then there are none", () => {
  fc.assert(
    fc.property(anyZone, anyZone, (from, to) => {
      const sets = new Map<string, ProviderRecordSet>(
        [soa, apexNs, ...from].map((set) => [recordSetKey(set), set]),
      );
      for (const change of changes(wanted(...to), [...sets.values()]))
        if (change.action === "delete") sets.delete(recordSetKey(change));
        else sets.set(recordSetKey(change), change);
      expect(changes(wanted(...to), [...sets.values()])).toEqual([]);
      expect(sets.size).toBe(to.length + 2);
    }),
  );
});
