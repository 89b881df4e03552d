import type { SourcePatch } from "@kule/build/source-patch";

/** `full` is what `npm run battery` reports; `sample` is the part of it that fits into `npm test` and mutant runs. */
export type Scale = "sample" | "full";

/** A defence switched off: the product with some lines of its source replaced. The row has to notice. */
export type Mutant = {
  /** In kebab case, unique within its row. */
  readonly name: string;
  /** The missing defence, as a noun phrase: "the epoch test when a step is reported". */
  readonly removes: string;
  /** Each text must be found exactly once in its file, or the mutant is out of date and the row fails. */
  readonly patches: readonly SourcePatch[];
  /**
   * What at least one violation must match, so that the mutant is caught for what it is and not by accident.
   */
  readonly expects: RegExp;
};

/** One run of a row. */
export type RowRun = {
  readonly seed: number;
  readonly scale: Scale;
  /** From the seed, uniform in [0, 1). */
  random(): number;
  /** Shown with a time; long work reports its progress. */
  progress(text: string): void;
  /** The defence that is off, if any: for what is printed, never to decide what is checked. */
  readonly mutant: string | null;
};

export type RowResult = {
  /** How often the promise was put to the test. */
  readonly cases: number;
  /** Broken promises, each as a sentence that helps to find the cause. */
  readonly violations: readonly string[];
  /** From the fault to a world in order again, one for each case that has such a time. */
  readonly recoverySeconds?: readonly number[];
  /** More figures, named in words: {"zombie writes refused": 42}. */
  readonly figures?: Readonly<Record<string, number | string>>;
};

/**
 * A row of the reliability battery. It is in `rows/<id>-<what>.ts`, which exports it as `row`, and runs in a
 * process of its own. It throws only when it could not be carried out; its findings are violations.
 */
export type Row = {
  /** As in the battery's plan: "A5". */
  readonly id: string;
  /** The promise, as a sentence. */
  readonly title: string;
  /** Minutes on two cores, for the order in which rows run. */
  readonly minutes: number;
  /** Nothing else runs at the same time as the row, or neither as the row nor as one of its mutants. */
  readonly alone?: "but for its mutants" | "with its mutants";
  /** A part that not every machine has, and the reason why it is missing here, if it is. */
  readonly needs?: {
    readonly part: string;
    readonly probe: () => string | undefined | Promise<string | undefined>;
  };
  /** Why `npm test -- --all` does not run a sample of it; those of most rows are part of it. */
  readonly notInSamples?: string;
  /** At least one. */
  readonly mutants: readonly Mutant[];
  run(run: RowRun): Promise<RowResult>;
};
