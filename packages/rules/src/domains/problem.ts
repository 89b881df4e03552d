/** What is wrong with a text, while it is not yet known which field the text came from. */
export type Flaw<Rule extends string> = {
  /** The rule that is broken; the API decides by it. */
  readonly rule: Rule;
  readonly message: string;
  /** What to do, with what was probably meant where that can be known. */
  readonly fix: string;
};

/** A flaw and its place in what was sent, such as `values[2]`. */
export type Problem<Rule extends string> = Flaw<Rule> & { readonly field: string };

export type Flawed<Rule extends string> = { readonly ok: false; readonly flaw: Flaw<Rule> };
export type Reading<Value, Rule extends string> = { readonly ok: true; readonly value: Value } | Flawed<Rule>;

/** At most `maxProblems` problems, and how many more there are. */
export type Problems<One> = { readonly problems: readonly One[]; readonly moreProblems: number };

export const maxProblems = 100;

export const readAs = <Value>(value: Value): { readonly ok: true; readonly value: Value } => ({
  ok: true,
  value,
});

export const flawed = <Rule extends string>(rule: Rule, message: string, fix: string): Flawed<Rule> => ({
  ok: false,
  flaw: { rule, message, fix },
});

export const inField = <Rule extends string>(field: string, flaw: Flaw<Rule>): Problem<Rule> => ({
  ...flaw,
  field,
});

/** Takes problems one by one and keeps the first hundred: what was sent may have a million. */
export class ProblemList<One> {
  readonly #kept: One[] = [];
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  add(...problems: readonly One[]): void {
    for (const problem of problems) {
      if (this.#count < maxProblems) this.#kept.push(problem);
      this.#count += 1;
    }
  }

  /** Counts problems that were left out where they were found. */
  addUntold(count: number): void {
    this.#count += count;
  }

  refusal(): { readonly ok: false } & Problems<One> {
    return { ok: false, problems: this.#kept, moreProblems: this.#count - this.#kept.length };
  }
}

const shownLength = 60;

/** A text of a user as a message quotes it: short, in quotes, without control characters. */
export function shown(text: string): string {
  return JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}…` : text);
}
