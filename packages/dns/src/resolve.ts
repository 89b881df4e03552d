// What ownership and checks need to know of a name, asked of the servers that decide: what its parent says of its name
// servers, and its TXT records and addresses at its own. Nothing is cached, since the question is what is so now.

import { type Answered, askNameServer, type DnsRecord } from "./ask-name-server.ts";
import { absoluteName, isAskableName, isWithin, parentName } from "./dns-name.ts";
import type { QuestionType } from "./message.ts";
import { isPublicAddress } from "./public-address.ts";
import { txtValue } from "./record-text.ts";

export interface ResolveSettings {
  /** `roots`: name servers of the root (or of whatever encloses all names), followed down. `resolvers`: recursive ones. */
  readonly start: { readonly kind: "roots" | "resolvers"; readonly addresses: readonly string[] };
  /** Of all servers; 53 unless it is a test. */
  readonly port?: number;
  /** Which addresses of a delegation may be asked; default: those of the Internet. `start` may always be asked. */
  readonly mayAsk?: (address: string) => boolean;
  /** For one call, all its questions included. Default 10,000. */
  readonly deadlineMilliseconds?: number;
  /** For one question. Default 2,000. */
  readonly questionMilliseconds?: number;
}

/** `name` absolute; `addresses` those that the parent gave, or that were looked up to ask the server. */
export interface NamedServer {
  readonly name: string;
  readonly addresses: readonly string[];
}

/**
 * `no-answer`: no server of `zone` answered. `lame`: they answered, but none knows the zone or leads further.
 * `timeout`: not done in time. `too-many-questions`, `too-many-aliases`: more than we follow. `bad-name`: the name cannot
 * be asked.
 */
export interface Unresolved {
  readonly outcome: "unresolved";
  readonly reason: "no-answer" | "lame" | "timeout" | "too-many-questions" | "too-many-aliases" | "bad-name";
  /** The zone whose servers were asked last. */
  readonly zone: string;
}

export type Delegation =
  | {
      readonly outcome: "delegated";
      readonly parentZone: string;
      /** `zone-itself`: the parent's servers serve the zone too, and then tell its own NS instead of the parent's. */
      readonly saidBy: "parent" | "zone-itself";
      readonly nameServers: readonly NamedServer[];
      /** Contents of the DS records at the parent; null when it did not answer that. */
      readonly ds: readonly string[] | null;
    }
  | { readonly outcome: "not-delegated"; readonly parentZone: string; readonly code: "NXDOMAIN" | "NODATA" }
  | Unresolved;

export type TxtAnswer =
  | {
      readonly outcome: "answered";
      /** The zone that has the records, behind all aliases. */
      readonly zone: string;
      /** What any of the zone's servers has, each value once, the strings of a record joined; at most 100. */
      readonly values: readonly string[];
      readonly servers: readonly {
        readonly name: string;
        readonly address: string;
        readonly answered: boolean;
      }[];
    }
  | {
      /** Only when aliases are refused: the name is one, for `target`. */
      readonly outcome: "alias";
      readonly zone: string;
      readonly target: string;
    }
  | Unresolved;

export type AddressesAnswer =
  | {
      readonly outcome: "answered";
      /** What any server has behind all aliases, each once; at most 20 of each family. */
      readonly ipv4: readonly string[];
      readonly ipv6: readonly string[];
    }
  | Unresolved;

export interface ReadTxtOptions {
  /**
   * `refuse`: a name that is an alias (CNAME, or below a DNAME) is not followed. What an alias leads to may be somebody
   * else's: whoever may write there has not shown that the name is theirs. Default `follow`.
   */
  readonly aliases?: "follow" | "refuse";
}

const MAX_QUESTIONS = 80;
const MAX_SERVERS_OF_A_ZONE = 8;
const MAX_ADDRESSES_OF_A_SERVER = 4;
/** A zone that is served is answered by the first or second; the others are asked only when those fail. */
const MAX_TRIES_IN_A_ZONE = 6;
const MAX_NESTED_LOOKUPS = 3;
const MAX_ALIASES = 8;
const MAX_TXT_VALUES = 100;
const MAX_ADDRESSES_TOLD = 20;
const MAX_NAME_SERVERS_TOLD = 20;

/** The NS of `name` as the servers of its parent zone say it. Never throws; ends within the deadline. */
export async function findDelegation(name: string, settings: ResolveSettings): Promise<Delegation> {
  const asked = absoluteName(name);
  const parent = parentName(asked);
  if (!isAskableName(asked) || parent === null)
    return { outcome: "unresolved", reason: "bad-name", zone: "." };
  const session = openSession(settings);
  const from = await firstZone(session, parent);
  if ("outcome" in from) return from;
  const found = await descend(session, from, asked, "NS", 0, true);
  if (found.outcome === "unresolved") return found;
  const { zone, answer } = found;
  const parentZone = zone.name;
  const own = found.outcome === "referral" ? answer.authorities : answer.answers;
  const targets = nameServersOf(own, asked);
  if (targets.length === 0)
    return { outcome: "not-delegated", parentZone, code: answer.code === "NXDOMAIN" ? "NXDOMAIN" : "NODATA" };
  const ds = await session.ask(found.address, asked, "DS");
  return {
    outcome: "delegated",
    parentZone,
    saidBy: found.outcome === "referral" ? "parent" : "zone-itself",
    nameServers: targets
      .slice(0, MAX_NAME_SERVERS_TOLD)
      .map((target) => ({ name: target, addresses: addressesOf(answer.additionals, target) })),
    ds:
      ds?.authoritative === true && ds.code === "NOERROR"
        ? ds.answers.filter((each) => each.type === "DS" && each.name === asked).map((each) => each.content)
        : null,
  };
}

/**
 * The TXT records of `name` at the authoritative servers, along CNAMEs unless these are refused. Never throws; ends within
 * the deadline.
 */
export async function readTxt(
  name: string,
  settings: ResolveSettings,
  { aliases: onAlias = "follow" }: ReadTxtOptions = {},
): Promise<TxtAnswer> {
  const session = openSession(settings);
  let asked = absoluteName(name);
  let zoneName = ".";
  for (let aliases = 0; aliases <= MAX_ALIASES; aliases += 1) {
    if (!isAskableName(asked)) return { outcome: "unresolved", reason: "bad-name", zone: zoneName };
    const from = await firstZone(session, asked);
    if ("outcome" in from) return from;
    const found = await descend(session, from, asked, "TXT", 0, false);
    if (found.outcome === "unresolved") return found;
    // Not asked to stop at a referral, so that this cannot be one.
    zoneName = found.zone.name;
    const target = aliasTarget(found.answer, asked, zoneName);
    if (target === null) return await readFromAll(session, found, asked);
    if (onAlias === "refuse") return { outcome: "alias", zone: zoneName, target };
    asked = target;
  }
  return { outcome: "unresolved", reason: "too-many-aliases", zone: zoneName };
}

/**
 * The addresses that `name` leads to at the authoritative servers, along CNAMEs. Every server of each zone is asked, and what any
 * says counts: whoever looks next may ask any of them, and one forged answer does not hide what the others say. Never throws;
 * ends within the deadline.
 */
export async function readAddresses(name: string, settings: ResolveSettings): Promise<AddressesAnswer> {
  const session = openSession(settings);
  const ipv4 = await addressesBehind(session, absoluteName(name), "A");
  if ("outcome" in ipv4) return ipv4;
  const ipv6 = await addressesBehind(session, absoluteName(name), "AAAA");
  if ("outcome" in ipv6) return ipv6;
  // Some servers may not have been asked.
  if (session.exhausted() !== null) return unresolved(session, ".", "no-answer");
  return { outcome: "answered", ipv4, ipv6 };
}

async function addressesBehind(
  session: Session,
  first: string,
  type: "A" | "AAAA",
): Promise<string[] | Unresolved> {
  const names = new Set([first]);
  const addresses = new Set<string>();
  let zone = ".";
  // Servers that do not agree may each have another alias: a set grows while it is gone through.
  for (const name of names) {
    if (names.size > MAX_ALIASES + 1) return { outcome: "unresolved", reason: "too-many-aliases", zone };
    if (!isAskableName(name)) return { outcome: "unresolved", reason: "bad-name", zone };
    const from = await firstZone(session, name);
    if ("outcome" in from) return from;
    const found = await descend(session, from, name, type, 0, false);
    if (found.outcome === "unresolved") return found;
    zone = found.zone.name;
    for (const { answer } of await askAll(session, found, name, type)) {
      if (answer === null) continue;
      const target = aliasTarget(answer, name, zone);
      if (target !== null) names.add(target);
      else for (const address of recordsOf(answer, name, type)) addresses.add(address);
    }
  }
  return [...addresses].slice(0, MAX_ADDRESSES_TOLD);
}

/** A zone and where to ask about it. */
interface ZoneServers {
  readonly name: string;
  readonly servers: readonly NamedServer[];
}

interface Session {
  readonly settings: ResolveSettings;
  /** Null when nothing came, or no more may be asked. */
  ask(address: string, name: string, type: QuestionType, recursive?: boolean): Promise<Answered | null>;
  mayAsk(address: string): boolean;
  /** Why no more can be asked. */
  exhausted(): "timeout" | "too-many-questions" | null;
}

function openSession(settings: ResolveSettings): Session {
  const end = performance.now() + (settings.deadlineMilliseconds ?? 10_000);
  let questionsLeft = MAX_QUESTIONS;
  // What is left after a question that ran into the end can be a fraction of a millisecond.
  const left = (): number => end - performance.now() - 10;
  // A timer may fire a fraction of a millisecond early.
  const hasEnded = (): boolean => left() <= 2;
  return {
    settings,
    mayAsk: settings.mayAsk ?? isPublicAddress,
    exhausted: () => (hasEnded() ? "timeout" : questionsLeft <= 0 ? "too-many-questions" : null),
    ask: async (address, name, type, recursive = false) => {
      if (questionsLeft <= 0 || hasEnded()) return null;
      questionsLeft -= 1;
      const answer = await askNameServer(
        { address, port: settings.port ?? 53 },
        { name, type },
        {
          deadlineMilliseconds: Math.min(settings.questionMilliseconds ?? 2_000, left()),
          recursionDesired: recursive,
        },
      );
      return answer.outcome === "answered" ? answer : null;
    },
  };
}

function unresolved(session: Session, zone: string, reason: Unresolved["reason"]): Unresolved {
  return { outcome: "unresolved", reason: session.exhausted() ?? reason, zone };
}

/** Where to begin: the root, or with resolvers the zone that encloses `name`. */
async function firstZone(session: Session, name: string): Promise<ZoneServers | Unresolved> {
  const { kind, addresses } = session.settings.start;
  if (kind === "roots") return { name: ".", servers: [{ name: ".", addresses }] };
  for (let zone: string | null = name; zone !== null; zone = parentName(zone)) {
    const answer = await askResolvers(session, zone, "NS");
    if (answer === null) return unresolved(session, zone, "no-answer");
    const targets = nameServersOf(answer.answers, zone);
    if (targets.length > 0) return { name: zone, servers: await locate(session, targets, [], zone, 0) };
  }
  return unresolved(session, ".", "no-answer");
}

async function askResolvers(session: Session, name: string, type: QuestionType): Promise<Answered | null> {
  for (const address of session.settings.start.addresses.slice(0, MAX_ADDRESSES_OF_A_SERVER)) {
    const answer = await session.ask(address, name, type, true);
    if (answer?.code === "NOERROR" || answer?.code === "NXDOMAIN") return answer;
  }
  return null;
}

type Found = {
  readonly outcome: "final" | "referral";
  readonly zone: ZoneServers;
  readonly address: string;
  readonly answer: Answered;
};

/**
 * Asks from `zone` downwards until servers answer with authority. With `stopAtName` a referral for `name` itself is the
 * end, since it is what the parent says. Each referral must lead deeper, so that there are no loops.
 */
async function descend(
  session: Session,
  zone: ZoneServers,
  name: string,
  type: QuestionType,
  nested: number,
  stopAtName: boolean,
): Promise<Found | Unresolved> {
  for (let at = zone; ; ) {
    const reply = await askZone(session, at, name, type);
    if ("outcome" in reply) return reply;
    const cut = referralOf(reply.answer, at.name, name);
    if (cut === null) return { outcome: "final", zone: at, ...reply };
    if (stopAtName && cut === name) return { outcome: "referral", zone: at, ...reply };
    const targets = nameServersOf(reply.answer.authorities, cut);
    at = { name: cut, servers: await locate(session, targets, reply.answer.additionals, at.name, nested) };
  }
}

/** The first answer of the zone's servers that is final or leads deeper. */
async function askZone(
  session: Session,
  zone: ZoneServers,
  name: string,
  type: QuestionType,
): Promise<{ readonly address: string; readonly answer: Answered } | Unresolved> {
  let answered = false;
  const isStart = zone.name === "." && session.settings.start.kind === "roots";
  const addresses = inTurns(zone.servers).filter((address) => isStart || session.mayAsk(address));
  for (const address of addresses.slice(0, MAX_TRIES_IN_A_ZONE)) {
    const answer = await session.ask(address, name, type);
    if (answer === null) continue;
    answered = true;
    if (answer.code !== "NOERROR" && answer.code !== "NXDOMAIN") continue;
    if (answer.authoritative || referralOf(answer, zone.name, name) !== null) return { address, answer };
  }
  return unresolved(session, zone.name, answered ? "lame" : "no-answer");
}

/** The first address of every server, then the second of every one: a dead server must not use all tries. */
function inTurns(servers: readonly NamedServer[]): string[] {
  const turns: string[] = [];
  for (let index = 0; index < MAX_ADDRESSES_OF_A_SERVER; index += 1)
    for (const { addresses } of servers) {
      const address = addresses[index];
      if (address !== undefined && !turns.includes(address)) turns.push(address);
    }
  return turns;
}

/** The zone below `zone` and above or at `name` that the answer leads to; null for one that leads nowhere. */
function referralOf(answer: Answered, zone: string, name: string): string | null {
  if (answer.authoritative || answer.code !== "NOERROR" || answer.answers.length > 0) return null;
  const cut = answer.authorities.find(
    (each) =>
      each.type === "NS" && each.name !== zone && isWithin(each.name, zone) && isWithin(name, each.name),
  );
  return cut?.name ?? null;
}

function nameServersOf(records: readonly DnsRecord[], owner: string): string[] {
  const targets = records
    .filter((each) => each.type === "NS" && each.name === owner)
    .map((each) => each.content);
  return [...new Set(targets)].filter(isAskableName).sort();
}

function addressesOf(records: readonly DnsRecord[], owner: string): string[] {
  return records
    .filter((each) => each.name === owner && (each.type === "A" || each.type === "AAAA"))
    .map((each) => each.content)
    .slice(0, MAX_ADDRESSES_OF_A_SERVER);
}

/** Addresses of name servers: from the referral where the zone that gave it may speak for them, else looked up. */
async function locate(
  session: Session,
  targets: readonly string[],
  glue: readonly DnsRecord[],
  glueFrom: string,
  nested: number,
): Promise<NamedServer[]> {
  const servers: NamedServer[] = [];
  let unknown: string[] = [];
  for (const name of targets.slice(0, MAX_SERVERS_OF_A_ZONE)) {
    const addresses = isWithin(name, glueFrom) ? addressesOf(glue, name) : [];
    if (addresses.length > 0) servers.push({ name, addresses });
    else unknown.push(name);
  }
  // Two that can be asked are enough; looking up more costs questions that the rest of the way needs.
  unknown = unknown.slice(0, Math.max(0, 2 - servers.length));
  for (const name of unknown) {
    const addresses = await lookUp(session, name, nested);
    if (addresses.length > 0) servers.push({ name, addresses });
  }
  return servers;
}

async function lookUp(session: Session, name: string, nested: number): Promise<string[]> {
  const addresses: string[] = [];
  for (const type of ["A", "AAAA"] as const) {
    if (addresses.length > 0) break;
    if (session.settings.start.kind === "resolvers") {
      const answer = await askResolvers(session, name, type);
      addresses.push(
        ...(answer?.answers ?? []).filter((each) => each.type === type).map((each) => each.content),
      );
      continue;
    }
    // Servers of a zone that are named in zones which are served by it, and so on, have no end.
    if (nested >= MAX_NESTED_LOOKUPS) return [];
    const from = await firstZone(session, name);
    if ("outcome" in from) return [];
    const found = await descend(session, from, name, type, nested + 1, false);
    if (found.outcome === "unresolved") return [];
    addresses.push(...addressesOf(found.answer.answers, name));
  }
  return addresses.slice(0, MAX_ADDRESSES_OF_A_SERVER);
}

/** Where the CNAMEs of an answer lead, as far as its zone may speak; null when there is none at `name`. */
function aliasTarget(answer: Answered, name: string, zone: string): string | null {
  let at = name;
  for (let hops = 0; hops < MAX_ALIASES && isWithin(at, zone); hops += 1) {
    const alias = answer.answers.find((each) => each.type === "CNAME" && each.name === at);
    if (alias === undefined) break;
    at = alias.content;
  }
  return at === name ? null : at;
}

const recordsOf = ({ answers }: Answered, name: string, type: QuestionType): string[] =>
  answers.filter((each) => each.type === type && each.name === name).map((each) => each.content);

type ServersAnswer = {
  readonly name: string;
  readonly address: string;
  /** Null when it gave none with authority. */
  readonly answer: Answered | null;
};

/** The answers of all servers of the zone, each asked at the first of its addresses that may be asked. */
async function askAll(
  session: Session,
  found: Found,
  name: string,
  type: QuestionType,
): Promise<ServersAnswer[]> {
  const isStart = found.zone.name === "." && session.settings.start.kind === "roots";
  const servers = found.zone.servers.flatMap(({ name: server, addresses }) => {
    const address = addresses.includes(found.address)
      ? found.address
      : addresses.find((each) => isStart || session.mayAsk(each));
    return address === undefined ? [] : [{ name: server, address }];
  });
  return Promise.all(
    servers.map(async (server) => {
      const answer =
        server.address === found.address ? found.answer : await session.ask(server.address, name, type);
      return { ...server, answer: answer?.authoritative === true ? answer : null };
    }),
  );
}

/** Every server of the zone is asked: one that has not the newest copy must not hide a record that was just made. */
async function readFromAll(session: Session, found: Found, name: string): Promise<TxtAnswer> {
  const answers = await askAll(session, found, name, "TXT");
  const values = new Set(
    answers.flatMap(({ answer }) => (answer === null ? [] : recordsOf(answer, name, "TXT").map(txtValue))),
  );
  return {
    outcome: "answered",
    zone: found.zone.name,
    values: [...values].slice(0, MAX_TXT_VALUES),
    servers: answers.map(({ name: server, address, answer }) => ({
      name: server,
      address,
      answered: answer !== null,
    })),
  };
}
