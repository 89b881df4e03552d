import type { Secret } from "../secret-search/secret-search.ts";

/** The secrets of a run as they are created, and where each of them may be. */
export class KnownSecrets {
  readonly #secrets = new Map<string, string>();
  readonly #homes = new Map<string, Set<string>>();

  /** @param homes names of the places that may hold it */
  learn(what: string, value: unknown, homes: readonly string[] = []): string {
    if (typeof value !== "string" || value.length < 8) throw new Error(`${what} is not there: ${value}`);
    if (this.#secrets.has(what) && this.#secrets.get(what) !== value)
      throw new Error(`there is another ${what}`);
    this.#secrets.set(what, value);
    for (const home of homes) this.#home(home).add(what);
    return value;
  }

  /** The second half of a token is enough to use it: the first is in every list. */
  learnToken(what: string, value: unknown, homes: readonly string[] = []): string {
    const token = this.learn(what, value, homes);
    this.learn(`${what}, its secret part`, token.slice(-38), homes);
    return token;
  }

  get all(): Secret[] {
    return [...this.#secrets].map(([what, value]) => ({ what, value }));
  }

  /** The secrets that this place may contain, including those that are only learnt later. */
  at(home: string): ReadonlySet<string> {
    return this.#home(home);
  }

  #home(name: string): Set<string> {
    const known = this.#homes.get(name) ?? new Set();
    this.#homes.set(name, known);
    return known;
  }
}
