// What an authoritative name server says to a question: RFC 1034 4.3.2 with the wildcards of RFC 4592, as PowerDNS 4.7 does.

import { readContent } from "./content.ts";
import { isWithin, parentOf, type StoredSet, type Zone } from "./zone.ts";
import { dnskeyData } from "./zone-keys.ts";

export type AnswerCode = "NOERROR" | "NOTAUTH" | "NXDOMAIN" | "REFUSED" | "SERVFAIL";

/** `data` in dns-packet's form. */
export interface AnswerRecord {
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly data: unknown;
}

export interface ZoneAnswer {
  readonly code: AnswerCode;
  readonly authoritative: boolean;
  readonly answers: readonly AnswerRecord[];
  readonly authorities: readonly AnswerRecord[];
  readonly additionals: readonly AnswerRecord[];
}

const MAX_ALIASES = 10;

/** `name` with the final dot, in any case: records at it are answered with it as it was written. */
export function answerQuestion(zones: ReadonlyMap<string, Zone>, name: string, type: string): ZoneAnswer {
  const answers: AnswerRecord[] = [];
  let asked = name;
  for (let aliases = 0; aliases <= MAX_ALIASES; aliases += 1) {
    const at = asked.toLowerCase();
    const zone = zoneOf(zones, at, type);
    // An alias may lead to a zone of somebody else.
    if (zone === null) return aliases === 0 ? empty("REFUSED", false) : whole(answers);
    const cut = delegationOf(zone, at, type);
    if (cut !== null) return referral(zone, cut, answers);
    const types = setsAt(zone, at);
    if (types === null) return { ...whole(answers), code: "NXDOMAIN", authorities: negative(zone) };
    const sets = type === "ANY" ? [...types.values()] : [types.get(type)].filter((set) => set !== undefined);
    if (type === "DNSKEY" && at === zone.name)
      for (const key of zone.keys.filter((each) => each.active))
        answers.push({ name: asked, type, ttl: 3600, data: dnskeyData(key) });
    for (const set of sets) answers.push(...recordsOf(set, asked));
    const alias = sets.length === 0 ? types.get("CNAME") : undefined;
    if (alias === undefined)
      return answers.length === aliases ? { ...whole(answers), authorities: negative(zone) } : whole(answers);
    answers.push(...recordsOf(alias, asked));
    asked = alias.records[0]?.content ?? ".";
  }
  return empty("SERVFAIL", true);
}

function empty(code: AnswerCode, authoritative: boolean): ZoneAnswer {
  return { code, authoritative, answers: [], authorities: [], additionals: [] };
}

function whole(answers: readonly AnswerRecord[]): ZoneAnswer {
  return { ...empty("NOERROR", true), answers };
}

/** The closest zone with a SOA. The DS of a zone belong to its parent, where that is served here too. */
function zoneOf(zones: ReadonlyMap<string, Zone>, name: string, type: string): Zone | null {
  let own: Zone | null = null;
  for (let at = name; ; at = parentOf(at)) {
    const zone = zones.get(at);
    if (zone?.byName.get(at)?.has("SOA")) {
      if (type !== "DS" || at !== name) return zone;
      own = zone;
    }
    if (at === ".") return own;
  }
}

/** The highest name between the apex and `name` that has NS: what is at and below it is served elsewhere, but for its DS. */
function delegationOf(zone: Zone, name: string, type: string): StoredSet | null {
  let found: StoredSet | null = null;
  for (let at = name; at !== zone.name; at = parentOf(at)) {
    const ns = zone.byName.get(at)?.get("NS");
    if (ns !== undefined && !(at === name && type === "DS") && !at.startsWith("*.")) found = ns;
  }
  return found;
}

function referral(zone: Zone, ns: StoredSet, answers: readonly AnswerRecord[]): ZoneAnswer {
  const targets = ns.records.map(({ content }) => content.toLowerCase());
  return {
    code: "NOERROR",
    authoritative: answers.length > 0,
    answers,
    authorities: recordsOf(ns, ns.name),
    additionals: targets
      .filter((target) => isWithin(target, zone.name))
      .flatMap((target) =>
        ["A", "AAAA"].flatMap((type) => {
          const set = zone.byName.get(target)?.get(type);
          return set === undefined ? [] : recordsOf(set, target);
        }),
      ),
  };
}

/** The sets of a name, or of the wildcard that stands for it; null when there is no such name. */
function setsAt(zone: Zone, name: string): ReadonlyMap<string, StoredSet> | null {
  const none: ReadonlyMap<string, StoredSet> = new Map();
  if (zone.existing.has(name)) return zone.byName.get(name) ?? none;
  let encloser = parentOf(name);
  while (!zone.existing.has(encloser)) encloser = parentOf(encloser);
  return zone.byName.get(`*.${encloser}`) ?? null;
}

function recordsOf(set: StoredSet, owner: string): AnswerRecord[] {
  return set.records.map(({ content }) => ({
    name: owner,
    type: set.type,
    ttl: set.ttl,
    data: readContent(set.type, content).data,
  }));
}

/** The SOA, for as long as resolvers may keep that there is nothing (RFC 2308). */
function negative(zone: Zone): AnswerRecord[] {
  const soa = zone.byName.get(zone.name)?.get("SOA");
  if (soa === undefined) return [];
  return recordsOf(soa, zone.name).map((record) => ({
    ...record,
    ttl: Math.min(soa.ttl, Number(soa.records[0]?.content.split(" ").at(-1))),
  }));
}
