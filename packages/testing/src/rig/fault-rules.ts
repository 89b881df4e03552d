/** Which of the matching events a fault hits. */
export type Occurrence = {
  /** The first that it hits, counted from 1. Default 1. */
  readonly nth?: number;
  /** How many it hits altogether. Without it there is no end. */
  readonly count?: number;
  /** Probability, from 0 to 1, for each that is due. Default 1. */
  readonly probability?: number;
};

type Rule<Fault> = { readonly fault: Fault; seen: number; hits: number };

/**
 * The present faults; the first one that is due hits. Random numbers are from the caller's seeded generator.
 */
export class FaultRules<Fault extends Occurrence> {
  readonly #random: () => number;
  #rules: Rule<Fault>[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  /** @returns a function that removes the fault, and returns how often it has hit */
  add(fault: Fault): () => number {
    const rule: Rule<Fault> = { fault, seen: 0, hits: 0 };
    this.#rules.push(rule);
    return () => {
      this.#rules = this.#rules.filter((each) => each !== rule);
      return rule.hits;
    };
  }

  clear(): void {
    this.#rules = [];
  }

  /** The fault that hits this event, or null; the event counts as seen by every fault that it matches. */
  hit(matches: (fault: Fault) => boolean): Fault | null {
    let hit: Rule<Fault> | null = null;
    for (const rule of this.#rules) {
      if (!matches(rule.fault)) continue;
      rule.seen += 1;
      const { nth = 1, count = Number.POSITIVE_INFINITY, probability = 1 } = rule.fault;
      if (hit !== null || rule.seen < nth || rule.hits >= count) continue;
      if (probability < 1 && this.#random() >= probability) continue;
      hit = rule;
    }
    if (hit === null) return null;
    hit.hits += 1;
    return hit.fault;
  }
}
