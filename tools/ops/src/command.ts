import type { OperatorApi } from "./operator-api.ts";

/** An option that takes a value, `--name <value>`, or none. */
export type Option = {
  /** What stands for the value in the help; left out of an option that takes none. */
  readonly value?: string;
  readonly about: string;
  readonly isRequired?: boolean;
  /** It may be given several times. */
  readonly isRepeated?: boolean;
};

/** What follows the verb without a name. */
export type Positionals = {
  readonly names: string;
  readonly about: string;
  readonly least: number;
  readonly most: number;
};

/** What a command was given, checked against what it takes. */
export type Given = {
  readonly positionals: readonly string[];
  one(option: string): string | undefined;
  /** @throws UsageError when it was not given */
  needed(option: string): string;
  all(option: string): readonly string[];
  /** Of an option that takes no value. */
  has(option: string): boolean;
};

export type Result = {
  /** What `--json` prints. */
  readonly json: unknown;
  /** What is printed otherwise. Not asked for in a dry run, whose answers are made up. */
  readonly text: () => string;
  /** The command found what must not be: exit code 1. */
  readonly hasFailed?: boolean;
  /** For standard error, whatever is printed. */
  readonly notes?: readonly string[];
};

export type Command = {
  readonly noun: string;
  readonly verb: string;
  readonly summary: string;
  readonly positionals?: Positionals;
  readonly options: Readonly<Record<string, Option>>;
  run(given: Given, api: OperatorApi, files: Files): Promise<Result>;
};

export type Files = {
  /**
   * Writes a file that only its owner reads.
   *
   * @throws UsageError when it is there already, or cannot be written
   */
  write(path: string, text: string): void;
};

/** The command was not given as it must be: exit code 2. */
export class UsageError extends Error {}

/** Two whole numbers such as 20000-29999. */
export function readRange(option: string, text: string): { readonly first: number; readonly last: number } {
  const [, first, last] = /^(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
  if (first === undefined || last === undefined)
    throw new UsageError(`--${option} is ${JSON.stringify(text)}: give a range such as 100-999`);
  return { first: Number(first), last: Number(last) };
}

export function readInteger(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new UsageError(`--${option} is ${JSON.stringify(text)}: give a whole number`);
  return Number(text);
}
