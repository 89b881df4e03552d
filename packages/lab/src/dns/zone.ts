// A zone as the stand-in keeps it, and what lookups need of it.

/** One record; `disabled` ones are listed by the API and never answered. */
export interface StoredRecord {
  readonly content: string;
  readonly disabled: boolean;
}

export interface StoredSet {
  /** Absolute, lower case, with the final dot. */
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly records: readonly StoredRecord[];
}

export interface StoredKey {
  readonly id: number;
  readonly active: boolean;
  /** PKCS #8, PEM. */
  readonly privateKey: string;
  /** The 64 bytes of the point, Base64, as in a DNSKEY. */
  readonly publicKey: string;
}

export interface StoredZone {
  readonly name: string;
  readonly kind: string;
  readonly soaEditApi: string;
  readonly apiRectify: boolean;
  readonly sets: readonly StoredSet[];
  readonly keys: readonly StoredKey[];
  readonly nextKeyId: number;
}

/** A zone with an index by name. Zones are replaced, never changed. */
export interface Zone extends StoredZone {
  /** Sets with at least one record that is answered, by name and type. */
  readonly byName: ReadonlyMap<string, ReadonlyMap<string, StoredSet>>;
  /** Names that have sets, and those between them and the apex, which exist without any (RFC 4592 2.2.2). */
  readonly existing: ReadonlySet<string>;
}

export function indexed(zone: StoredZone): Zone {
  const byName = new Map<string, Map<string, StoredSet>>();
  const existing = new Set<string>();
  for (const set of zone.sets) {
    const records = set.records.filter((record) => !record.disabled);
    if (records.length === 0) continue;
    const types = byName.get(set.name) ?? new Map<string, StoredSet>();
    byName.set(set.name, types.set(set.type, { ...set, records }));
    for (let name = set.name; name !== zone.name && !existing.has(name); name = parentOf(name))
      existing.add(name);
  }
  existing.add(zone.name);
  return { ...zone, byName, existing };
}

/** The name without its first label. */
export function parentOf(name: string): string {
  return name.slice(name.indexOf(".") + 1) || ".";
}

export function isWithin(name: string, zone: string): boolean {
  return zone === "." || name === zone || name.endsWith(`.${zone}`);
}

/** 0 without a SOA, as PowerDNS says it. */
export function serialOf(zone: StoredZone): number {
  const soa = zone.sets.find((set) => set.type === "SOA" && set.name === zone.name);
  return Number(soa?.records[0]?.content.split(" ")[2] ?? 0);
}

/** `soa_edit_api: INCREASE`: one more, from any number. Other settings leave the serial as it is. */
export function withNextSerial(zone: StoredZone): StoredZone {
  if (zone.soaEditApi !== "INCREASE") return zone;
  const next = (content: string): string =>
    content
      .split(" ")
      .map((field, index) => (index === 2 ? String((Number(field) + 1) % 2 ** 32) : field))
      .join(" ");
  return {
    ...zone,
    sets: zone.sets.map((set) =>
      set.type === "SOA" && set.name === zone.name
        ? { ...set, records: set.records.map((record) => ({ ...record, content: next(record.content) })) }
        : set,
    ),
  };
}
