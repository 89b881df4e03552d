import { RateLimited } from "../../platform/errors.ts";

type LookBounds = {
  /** Of this process. */
  readonly atOnce: number;
  /** So that one organisation's slow name servers leave room for the others. */
  readonly atOnceOfOrganisation: number;
  /** How long an answer is given again. */
  readonly keptMs: number;
};

const defaultLookBounds: LookBounds = { atOnce: 8, atOnceOfOrganisation: 2, keptMs: 10_000 };

/** What was seen for longer than it is kept is deleted when there are so many. */
const mostKept = 1_000;

type Kept<Seen> = { readonly seen: Seen; readonly until: number };

/**
 * Looks at what strangers' servers say, on behalf of a member who may ask as often as the rate limit allows: one at a time for
 * each thing that is looked at, a few at a time for an organisation and for the process, and what was seen a moment ago is
 * not looked at again. Without this, members could have our resolver ask whomever they like.
 */
export class BoundedLooks<Seen> {
  readonly #bounds: LookBounds;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept<Seen>>();
  readonly #running = new Map<string, Promise<Seen>>();
  readonly #ofOrganisation = new Map<string, number>();

  /** @param now a clock that never goes back, in ms */
  constructor(bounds: LookBounds = defaultLookBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /**
   * @param key of what is looked at: the same key is looked at by one caller, and the others get what that one sees
   * @throws RateLimited when there are as many looks as are allowed at once
   */
  async look(organisationId: string, key: string, see: () => Promise<Seen>): Promise<Seen> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#now() < kept.until) return kept.seen;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const own = this.#ofOrganisation.get(organisationId) ?? 0;
    if (own >= this.#bounds.atOnceOfOrganisation || this.#running.size >= this.#bounds.atOnce)
      throw new RateLimited(
        this.#bounds.keptMs / 1000,
        "too many names are being looked up at the same time; try again in a while",
      );
    this.#ofOrganisation.set(organisationId, own + 1);
    const look = this.#see(organisationId, key, see);
    this.#running.set(key, look);
    return look;
  }

  async #see(organisationId: string, key: string, see: () => Promise<Seen>): Promise<Seen> {
    try {
      // What it throws at once is its failure as well.
      const seen = await (async () => see())();
      this.#keep(key, seen);
      return seen;
    } finally {
      this.#running.delete(key);
      const left = (this.#ofOrganisation.get(organisationId) ?? 1) - 1;
      if (left > 0) this.#ofOrganisation.set(organisationId, left);
      else this.#ofOrganisation.delete(organisationId);
    }
  }

  #keep(key: string, seen: Seen): void {
    const now = this.#now();
    // The oldest first: a key that is seen again goes to the end.
    this.#kept.delete(key);
    for (const [each, { until }] of this.#kept) {
      if (until > now && this.#kept.size < mostKept) break;
      this.#kept.delete(each);
    }
    this.#kept.set(key, { seen, until: now + this.#bounds.keptMs });
  }
}
