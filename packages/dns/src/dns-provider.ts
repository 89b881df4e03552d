// The narrow port between Kule and what serves its zones. Kule's database is the truth; a provider holds a copy.

/** All records of one name and type. `name` is absolute, lower case, with the final dot. */
export interface RecordSet {
  readonly name: string;
  readonly type: string;
  readonly ttlSeconds: number;
  /** Canonical texts, as PowerDNS' `content`. Empty when the provider has the set, but serves none of it. */
  readonly contents: readonly string[];
}

export interface ProviderZone {
  /** The serial that the provider's name servers answer. */
  readonly serial: number;
  /** Every record set, those of the apex (SOA, NS) included. */
  readonly recordSets: readonly RecordSet[];
  /** Null when the zone is not signed. `ds` are the contents of the DS records for the parent, SHA-256 and longer. */
  readonly dnssec: { readonly ds: readonly string[] } | null;
}

export type RecordSetChange =
  | { readonly change: "replace"; readonly recordSet: RecordSet }
  | { readonly change: "delete"; readonly name: string; readonly type: string };

/**
 * Every function may be repeated after a crash or a lost answer at any point, and then ends in the same state.
 * Names of zones are taken with or without the final dot.
 *
 * All functions throw `DnsUnavailable` when the provider cannot be used now, and `DnsRefused` when it does not accept the
 * call; an aborted `signal` rejects with its reason.
 */
export interface DnsProvider {
  /** @returns null when the provider has no such zone */
  readZone(name: string, signal?: AbortSignal): Promise<ProviderZone | null>;
  /** Makes the zone with its SOA and the NS of its apex; one that exists is kept, and completed where it is not whole. */
  createZone(name: string, nameServers: readonly string[], signal?: AbortSignal): Promise<void>;
  /** Applies all changes or none in one call. Without changes nothing is sent: each call raises the serial. */
  changeZone(name: string, changes: readonly RecordSetChange[], signal?: AbortSignal): Promise<void>;
  /** A zone that does not exist is success. */
  deleteZone(name: string, signal?: AbortSignal): Promise<void>;
  /** Signs the zone. An existing key is used, never a second one made. @returns contents of the DS records for the parent */
  enableDnssec(name: string, signal?: AbortSignal): Promise<readonly string[]>;
  /** Removes all keys of the zone. Remove the DS at the parent first, or resolvers refuse the zone's answers. */
  disableDnssec(name: string, signal?: AbortSignal): Promise<void>;
}

/**
 * `unreachable`: no connection, or it broke. `timeout`: no whole answer in time. `server-error`: 5xx or 429.
 * `unauthorized`: 401 or 403. `bad-answer`: something else than PowerDNS' API answers.
 */
export type UnavailableReason = "unreachable" | "timeout" | "server-error" | "unauthorized" | "bad-answer";

/** The longest part of a provider's text that an error holds. */
const MAX_TEXT_CHARACTERS = 300;

/** The provider cannot be used now. A changing call may have been done all the same: read, then repeat. */
export class DnsUnavailable extends Error {
  readonly reason: UnavailableReason;
  /** `detail` must not hold secrets; it is cut to 300 characters. */
  constructor(reason: UnavailableReason, call: string, detail: string) {
    super(`${call}: ${boundedText(detail)}`);
    this.name = "DnsUnavailable";
    this.reason = reason;
  }
}

/** The provider does not accept the call, and will not when it is repeated. Nothing was changed. */
export class DnsRefused extends Error {
  /** HTTP status, e.g. 422; 404 when the zone does not exist. */
  readonly status: number;
  /** The provider's text, at most 300 characters. */
  readonly text: string;
  constructor(status: number, call: string, text: string) {
    super(`${call}: ${status} ${boundedText(text)}`);
    this.name = "DnsRefused";
    this.status = status;
    this.text = boundedText(text);
  }
}

function boundedText(text: string): string {
  // Line breaks and other control characters would let a provider write lines into our log.
  const line = text.replace(/\p{Cc}+/gu, " ").trim();
  return line.length > MAX_TEXT_CHARACTERS ? `${line.slice(0, MAX_TEXT_CHARACTERS - 1)}…` : line;
}
