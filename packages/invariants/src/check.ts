import type { KeyName } from "./keys.ts";
import type { Invariant } from "./violation.ts";

/** One thing that must not exist: a query for it, run as the owner of the tables. */
export type Check = {
  readonly invariant: Invariant;
  /** The promise, as a sentence. */
  readonly check: string;
  /**
   * Answers one text column `subject`; every row is a violation. A check that can be read in slices has `within(column)`
   * at each place where a slice limits the rows, and also answers the text column `key`: the value of its key where the
   * violation is.
   */
  readonly sql: string;
  /**
   * The key by whose values a pass of the worker reads a slice of the check; without it every pass reads all. That is for
   * what is small, and for what an index finds at once, such as open jobs.
   */
  readonly by?: KeyName;
};

/**
 * SQL: a job that is not over. Written as two conditions: for each of them there is a partial index, which Postgres does
 * not use for a list of values.
 */
export const isOpen = (job = "j"): string => `(${job}.status = 'queued' or ${job}.status = 'running')`;

/** SQL: whether the server has an open job of one of these kinds. */
export const openJobOf = (serverId: string, kinds: string): string =>
  `exists (select 1 from job j where j.resource_id = ${serverId} and ${isOpen()} and j.kind in (${kinds}))`;
