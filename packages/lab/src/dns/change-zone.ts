// A request's record sets applied to a zone, all or none, in the order given and with PowerDNS 4.7's refusals.

import { ContentError, hasOddTarget, isKnownType, readContent } from "./content.ts";
import { isWithin, type StoredRecord, type StoredSet, type StoredZone } from "./zone.ts";

/** Answered as 422 `{"error": …}`. */
export class Refusal extends Error {}

const ONE_RECORD = new Set(["CNAME", "SOA"]);

/** `changes` is the `rrsets` of a PATCH. @throws Refusal, and then nothing is changed */
export function changedZone(zone: StoredZone, changes: readonly unknown[]): StoredZone {
  const sets = new Map(zone.sets.map((set) => [keyOf(set.name, set.type), set]));
  // Types by name: looking through all sets for each of 10,000 changes would take minutes.
  const types = new Map<string, Set<string>>();
  for (const set of zone.sets) typesAt(types, set.name).add(set.type);
  const seen = new Set<string>();
  for (const change of changes) {
    const rrset = asObject(change);
    const name = canonicalName(textField(rrset, "name"));
    const type = textField(rrset, "type").toUpperCase();
    if (!isKnownType(type)) throw new Refusal(`RRset ${name} IN ${type}: unknown type given`);
    const changetype = textField(rrset, "changetype").toUpperCase();
    const key = keyOf(name, type);
    if (seen.has(`${key} ${changetype}`))
      throw new Refusal(`Duplicate RRset ${name} IN ${type} with changetype: ${changetype}`);
    seen.add(`${key} ${changetype}`);
    if (changetype === "DELETE") {
      sets.delete(key);
      typesAt(types, name).delete(type);
    } else if (changetype === "REPLACE") {
      const set = readSet(zone.name, name, type, rrset);
      const others = [...typesAt(types, name)].filter((other) => other !== type);
      if (type === "CNAME" ? others.length > 0 : others.includes("CNAME"))
        throw new Refusal(`RRset ${name} IN ${type}: Conflicts with pre-existing RRset`);
      if (set.records.length === 0) {
        sets.delete(key);
        typesAt(types, name).delete(type);
      } else {
        sets.set(key, set);
        typesAt(types, name).add(type);
      }
    } else throw new Refusal("Changetype not understood");
  }
  return { ...zone, sets: [...sets.values()] };
}

/** A name as the API takes it, in lower case. @throws Refusal */
export function canonicalName(name: string): string {
  if (!name.endsWith(".")) throw new Refusal(`DNS Name '${name}' is not canonical`);
  const labels = name === "." ? [] : name.slice(0, -1).split(".");
  if (name.length > 254 || labels.some((label) => label === "" || Buffer.byteLength(label) > 63))
    throw new Refusal(`Unable to parse DNS Name '${name}'`);
  return name.toLowerCase();
}

function readSet(zone: string, name: string, type: string, rrset: Record<string, unknown>): StoredSet {
  if (!isWithin(name, zone)) throw new Refusal(`RRset ${name} IN ${type}: Name is out of zone`);
  if (name !== "." && !/^(?:\*\.)?(?:[a-z0-9_/-]+\.)+$/.test(name))
    throw new Refusal(`Name '${shown(name)}' contains unsupported characters`);
  if (!Array.isArray(rrset.records)) throw new Refusal(`No change for RRset ${name} IN ${type}`);
  const ttl = typeof rrset.ttl === "string" && /^\d+$/.test(rrset.ttl) ? Number(rrset.ttl) : rrset.ttl;
  if (!Number.isInteger(ttl)) throw new Refusal("Key 'ttl' not an Integer or not present");
  const records = rrset.records.map((record) => readRecord(name, type, asObject(record)));
  const seen = new Set<string>();
  for (const { content } of records) {
    if (hasOddTarget(type, content))
      throw new Refusal(`RRset ${name} IN ${type} non-hostname content ${content}`);
    if (seen.has(content))
      throw new Refusal(`Duplicate record in RRset ${name} IN ${type} with content "${content}"`);
    seen.add(content);
  }
  if (ONE_RECORD.has(type) && records.length > 1)
    throw new Refusal(`RRset ${name} IN ${type} has more than one record`);
  if (type === "SOA" && name !== zone) throw new Refusal(`Record ${name} IN SOA is only allowed at apex`);
  return { name, type, ttl: Number(ttl), records };
}

function readRecord(name: string, type: string, record: Record<string, unknown>): StoredRecord {
  const content = textField(record, "content");
  try {
    return { content: readContent(type, content).text, disabled: record.disabled === true };
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    throw new Refusal(`Record ${name}/${type} '${content}': ${error.message}`);
  }
}

function typesAt(types: Map<string, Set<string>>, name: string): Set<string> {
  let at = types.get(name);
  if (at === undefined) {
    at = new Set();
    types.set(name, at);
  }
  return at;
}

function keyOf(name: string, type: string): string {
  return `${name} ${type}`;
}

function asObject(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Refusal("not an object");
  return value as Record<string, unknown>;
}

function textField(object: Record<string, unknown>, key: string): string {
  const value = object[key];
  if (typeof value !== "string") throw new Refusal(`Key '${key}' not present or not a String`);
  return value;
}

/** What is not printable as `\DDD`, byte by byte. */
function shown(name: string): string {
  return [...Buffer.from(name, "utf8")]
    .map((byte) =>
      byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, "0")}`,
    )
    .join("");
}
