import type { Invariant } from "./violation.ts";

/** One thing that must not exist: a query for it, run as the owner of the tables. */
export type Check = {
  readonly invariant: Invariant;
  /** The promise, as a sentence. */
  readonly check: string;
  /** Answers one text column `subject`; every row is a violation. */
  readonly sql: string;
};

/** SQL: a job that is not over. */
export const isOpen = "status in ('queued', 'running')";

/** SQL: whether the server has an open job of one of these kinds. */
export const openJobOf = (serverId: string, kinds: string): string =>
  `exists (select 1 from job j where j.resource_id = ${serverId} and j.${isOpen} and j.kind in (${kinds}))`;
