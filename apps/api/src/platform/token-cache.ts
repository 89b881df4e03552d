import { sql } from "kysely";
import { type Caller, findCaller, type Organisation, type StoredCaller } from "./caller.ts";
import { type Database, systemQuery } from "./database.ts";
import type { Logger } from "./log.ts";
import type { Notifications } from "./notifications.ts";
import { type ParsedToken, parseToken, sameHash } from "./tokens.ts";

/** No entry is trusted longer than this without querying the database again, even if every NOTIFY is lost. */
const trustedForMs = 1_000;
const maxEntries = 10_000;

/** Until a time of the monotonic clock: setting back the wall clock must not extend trust. */
type Entry<Value> = { readonly value: Promise<Value>; readonly until: number };

type KnownCaller = StoredCaller & { readonly endsAt: number };

/**
 * The callers of bearer tokens. Two replicas agree within a second after a revocation, at once when NOTIFY
 * arrives.
 */
export class TokenCache {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #callers = new Map<string, Entry<KnownCaller | null>>();
  readonly #organisations = new Map<string, Entry<Organisation | null>>();
  readonly #touched = new Map<string, number>();
  readonly #touching = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;

  constructor(db: Database, notifications: Notifications, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#unsubscribe = notifications.subscribe("kule_token", (tokenId) => {
      if (tokenId === null) this.#callers.clear();
      else this.#callers.delete(tokenId);
    });
  }

  /** The caller of a token, or null when it is not valid now. */
  async callerOf(bearer: string): Promise<Caller | null> {
    const token = parseToken(bearer);
    if (token === null) return null;
    const stored = await remembered(this.#callers, token.id, () => this.#look(token));
    if (stored === null || !sameHash(stored.secretHash, token.hash)) return null;
    const { caller } = stored;
    if (caller.kind !== token.kind) return null;
    if (stored.endsAt <= performance.now()) return null;
    this.#touch(token.id);
    return caller;
  }

  async #look(token: ParsedToken): Promise<KnownCaller | null> {
    // Counted from before the query: the time of the answer shortens the trust.
    const askedAt = performance.now();
    const stored = await findCaller(this.#db, token);
    if (stored === null) return null;
    return { ...stored, endsAt: stored.leftMs === null ? Number.POSITIVE_INFINITY : askedAt + stored.leftMs };
  }

  /** The organisation with that id, for operators who act in it. */
  organisation(id: string): Promise<Organisation | null> {
    return remembered(this.#organisations, id, async () => {
      const row = await this.#db
        .selectFrom("organisation")
        .select(["id", "slug", "name", "status"])
        .where("id", "=", id)
        .executeTakeFirst();
      return row === undefined
        ? null
        : { ...row, status: row.status === "suspended" ? "suspended" : "active" };
    });
  }

  /** Drops entries that this process just changed. */
  forgetOrganisation(id: string): void {
    this.#organisations.delete(id);
    this.#callers.clear();
  }

  /** Drops tokens whose rights this process just changed. */
  dropCallers(): void {
    this.#callers.clear();
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await Promise.allSettled(this.#touching);
  }

  /** Records the use of a token to the minute, in the background: no request waits for it or fails by it. */
  #touch(tokenId: string): void {
    const minute = Math.floor(performance.now() / 60_000);
    if (this.#touched.get(tokenId) === minute) return;
    if (this.#touched.size >= maxEntries) this.#touched.clear();
    this.#touched.set(tokenId, minute);
    const work = systemQuery(this.#db, "a token's use is noted by its id")
      .updateTable("token")
      .set({ last_used_at: sql<Date>`date_trunc('minute', now())` })
      .where("id", "=", tokenId)
      .where((is) =>
        is.or([
          is("last_used_at", "is", null),
          is("last_used_at", "<", sql<Date>`date_trunc('minute', now())`),
        ]),
      )
      .execute()
      .then(
        () => {},
        (error: unknown) => this.#log.debug({ err: error }, "could not record a token's use"),
      )
      .finally(() => this.#touching.delete(work));
    this.#touching.add(work);
  }
}

/** One query for all concurrent callers; a failed one is not cached. */
function remembered<Value>(
  entries: Map<string, Entry<Value>>,
  key: string,
  load: () => Promise<Value>,
): Promise<Value> {
  const known = entries.get(key);
  if (known !== undefined && known.until > performance.now()) return known.value;
  if (entries.size >= maxEntries) entries.clear();
  const value = load();
  const entry: Entry<Value> = { value, until: performance.now() + trustedForMs };
  entries.set(key, entry);
  value.then(
    (found) => {
      if (found === null && entries.get(key) === entry) entries.delete(key);
    },
    () => {
      if (entries.get(key) === entry) entries.delete(key);
    },
  );
  return value;
}
