// PowerDNS' HTTP API (4.7 and later) as a DNS provider. Zones are Native: every name server of an installation reads the
// same database, or a copy of it that the database makes.

import { absoluteName } from "./dns-name.ts";
import { type DnsProvider, DnsRefused, DnsUnavailable, type RecordSet } from "./dns-provider.ts";
import { openPowerDns, type PowerDnsExchange, type PowerDnsSettings } from "./powerdns-exchange.ts";

const MAX_ZONE_BYTES = 16 * 1024 * 1024;
const APEX_TTL_SECONDS = 3_600;
/**
 * refresh, retry, expire, and how long resolvers may keep "there is no such name": 300 s, so that a record that was asked
 * for before it was made is seen soon.
 */
const SOA_TIMES = "10800 3600 604800 300";
/** INCEPTION-INCREMENT leaves a serial of 0 as it is; INCREASE counts from any. */
const ZONE_SETTINGS = { kind: "Native", soa_edit_api: "INCREASE", api_rectify: true };
const SHA1_DIGEST_TYPE = "1";

interface CryptoKey {
  readonly id: number;
  readonly active: boolean;
  readonly ds: readonly string[];
}

/** A provider on a PowerDNS whose API is at `settings.url`. Nothing is asked yet. @throws Error for unusable settings */
export function powerDnsProvider(settings: PowerDnsSettings): DnsProvider {
  const exchange = openPowerDns(settings);
  return {
    readZone: async (name, signal) => {
      const zone = await fetchZone(exchange, name, signal);
      if (zone === null) return null;
      if (!zone.signed) return { serial: zone.serial, recordSets: zone.recordSets, dnssec: null };
      const ds = dsOf((await fetchKeys(exchange, name, signal)) ?? []);
      return { serial: zone.serial, recordSets: zone.recordSets, dnssec: ds.length === 0 ? null : { ds } };
    },

    createZone: async (name, nameServers, signal) => {
      const apex = apexOf(name, nameServers);
      const { status } = await exchange({
        method: "POST",
        path: "/zones",
        body: { name: absoluteName(name), ...ZONE_SETTINGS, nameservers: [], rrsets: apex.map(toRrset) },
        expected: [409],
        maxAnswerBytes: MAX_ZONE_BYTES,
        signal,
      });
      if (status === 409) await completeZone(exchange, name, apex, signal);
    },

    changeZone: async (name, changes, signal) => {
      if (changes.length === 0) return;
      // A CNAME that replaces another type is refused while the other is there, so deletions come first.
      const deletions = changes.flatMap((each) =>
        each.change === "delete" ? [{ name: each.name, type: each.type, changetype: "DELETE" }] : [],
      );
      const replacements = changes.flatMap((each) =>
        each.change === "replace" ? [{ ...toRrset(each.recordSet), changetype: "REPLACE" }] : [],
      );
      await exchange({
        method: "PATCH",
        path: zonePath(name),
        body: { rrsets: [...deletions, ...replacements] },
        signal,
      });
    },

    deleteZone: async (name, signal) => {
      await exchange({ method: "DELETE", path: zonePath(name), expected: [404], signal });
    },

    enableDnssec: async (name, signal) => {
      const keys = await fetchKeys(exchange, name, signal);
      if (keys === null)
        throw new DnsRefused(404, `GET ${zonePath(name)}/cryptokeys`, "the zone does not exist");
      const spare = keys.find((key) => key.ds.length > 0);
      if (spare === undefined) {
        await exchange({
          method: "POST",
          path: `${zonePath(name)}/cryptokeys`,
          body: { keytype: "csk", active: true, algorithm: "ECDSAP256SHA256" },
          dropAnswer: true,
          signal,
        });
      } else if (dsOf(keys).length === 0) {
        await exchange({
          method: "PUT",
          path: `${zonePath(name)}/cryptokeys/${spare.id}`,
          body: { active: true },
          signal,
        });
      }
      // api_rectify acts on changes of records only. Without this the NSEC of the apex denies every name of the zone.
      await exchange({ method: "PUT", path: `${zonePath(name)}/rectify`, signal });
      const ds = dsOf((await fetchKeys(exchange, name, signal)) ?? []);
      if (ds.length === 0)
        throw new DnsUnavailable(
          "bad-answer",
          `POST ${zonePath(name)}/cryptokeys`,
          "no key is active afterwards",
        );
      return ds;
    },

    disableDnssec: async (name, signal) => {
      // One by one: PUT {dnssec: false} leaves a key that is not active.
      for (const { id } of (await fetchKeys(exchange, name, signal)) ?? [])
        await exchange({
          method: "DELETE",
          path: `${zonePath(name)}/cryptokeys/${id}`,
          expected: [404],
          signal,
        });
    },
  };
}

/** What the parent needs for the keys that sign now. A zone-signing key alone has no DS. */
function dsOf(keys: readonly CryptoKey[]): string[] {
  return keys.filter((key) => key.active).flatMap((key) => key.ds);
}

/** PowerDNS' id of a zone in a path: what is not a letter, digit, dot or hyphen as `=5F`. */
function zonePath(name: string): string {
  const id = absoluteName(name).replace(
    /[^a-z0-9.-]/g,
    (character) => `=${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
  return `/zones/${id}`;
}

function toRrset({ name, type, ttlSeconds, contents }: RecordSet) {
  return { name, type, ttl: ttlSeconds, records: contents.map((content) => ({ content, disabled: false })) };
}

function apexOf(zone: string, nameServers: readonly string[]): [soa: RecordSet, ns: RecordSet] {
  const [first] = nameServers;
  if (first === undefined) throw new Error("a zone needs at least one name server");
  const name = absoluteName(zone);
  const primary = absoluteName(first);
  // The operator's address rather than the zone's: a long zone name would leave no space for one more label.
  const contact = `hostmaster.${primary.slice(primary.indexOf(".") + 1) || primary}`;
  return [
    { name, type: "SOA", ttlSeconds: APEX_TTL_SECONDS, contents: [`${primary} ${contact} 1 ${SOA_TIMES}`] },
    { name, type: "NS", ttlSeconds: APEX_TTL_SECONDS, contents: nameServers.map(absoluteName) },
  ];
}

/** A PowerDNS that died while it made a zone leaves one without settings, SOA and NS, which a second POST does not mend. */
async function completeZone(
  exchange: PowerDnsExchange,
  name: string,
  apex: readonly RecordSet[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const zone = await fetchZone(exchange, name, signal);
  if (zone === null)
    throw new DnsUnavailable("bad-answer", "POST /zones", "409 for a zone that does not exist");
  if (zone.kind !== ZONE_SETTINGS.kind)
    throw new DnsRefused(409, "POST /zones", `the zone exists as ${zone.kind}, which Kule does not change`);
  if (!zone.hasSettings) await exchange({ method: "PUT", path: zonePath(name), body: ZONE_SETTINGS, signal });
  const missing = apex.filter(
    ({ type }) => !zone.recordSets.some((each) => each.type === type && each.name === absoluteName(name)),
  );
  if (missing.length === 0) return;
  await exchange({
    method: "PATCH",
    path: zonePath(name),
    body: { rrsets: missing.map((each) => ({ ...toRrset(each), changetype: "REPLACE" })) },
    signal,
  });
}

async function fetchZone(exchange: PowerDnsExchange, name: string, signal: AbortSignal | undefined) {
  const path = zonePath(name);
  const { status, text } = await exchange({
    method: "GET",
    path,
    expected: [404],
    maxAnswerBytes: MAX_ZONE_BYTES,
    signal,
  });
  if (status === 404) return null;
  const zone = parseAnswer(path, text, (value) => {
    if (!isObject(value) || !Array.isArray(value.rrsets)) return null;
    const serial = value.edited_serial ?? value.serial;
    const recordSets = value.rrsets.map(toRecordSet);
    if (typeof serial !== "number" || recordSets.some((each) => each === null)) return null;
    return {
      serial,
      kind: String(value.kind),
      signed: value.dnssec === true,
      hasSettings:
        value.soa_edit_api === ZONE_SETTINGS.soa_edit_api && value.api_rectify === ZONE_SETTINGS.api_rectify,
      recordSets: recordSets.filter((each) => each !== null),
    };
  });
  return zone;
}

function toRecordSet(value: unknown): RecordSet | null {
  if (!isObject(value)) return null;
  const { name, type, ttl, records } = value;
  if (
    typeof name !== "string" ||
    typeof type !== "string" ||
    typeof ttl !== "number" ||
    !Array.isArray(records)
  )
    return null;
  const contents: string[] = [];
  for (const record of records) {
    if (!isObject(record) || typeof record.content !== "string") return null;
    // Somebody switched it off by hand: the set is there, and stands in the way of others, but is not served.
    if (record.disabled !== true) contents.push(record.content);
  }
  return { name: name.toLowerCase(), type, ttlSeconds: ttl, contents };
}

/** Null when there is no such zone. The list, unlike a single key and what POST answers, is without private keys. */
async function fetchKeys(
  exchange: PowerDnsExchange,
  name: string,
  signal: AbortSignal | undefined,
): Promise<CryptoKey[] | null> {
  const path = `${zonePath(name)}/cryptokeys`;
  const { status, text } = await exchange({ method: "GET", path, expected: [404], signal });
  if (status === 404) return null;
  return parseAnswer(path, text, (value) => {
    if (!Array.isArray(value)) return null;
    const keys: CryptoKey[] = [];
    for (const key of value) {
      if (!isObject(key) || typeof key.id !== "number") return null;
      const ds = Array.isArray(key.ds) ? key.ds.filter((each) => typeof each === "string") : [];
      keys.push({
        id: key.id,
        active: key.active === true,
        // Registrars are told not to take SHA-1 any more (RFC 8624).
        ds: ds.filter((each) => each.split(" ")[2] !== SHA1_DIGEST_TYPE),
      });
    }
    return keys;
  });
}

function parseAnswer<T>(path: string, text: string, read: (value: unknown) => T | null): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const answer = read(value);
  if (answer === null)
    throw new DnsUnavailable("bad-answer", `GET ${path}`, "not an answer of PowerDNS' API");
  return answer;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
