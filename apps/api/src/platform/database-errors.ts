import pg from "pg";
import { Unavailable } from "./errors.ts";

/** Postgres could not be reached, is not the primary, or the connection broke before it answered. */
export class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super("the database is away", { cause });
  }
}

/** SQLSTATEs (or their classes) that are temporary and say nothing about the request. */
const transient = [
  "08", // connection exceptions
  "53", // too many connections, out of memory, disk full
  "55P03", // lock not available
  "57014", // statement timeout
  "57P", // shutdown, crash, starting up
  "40001", // serialization failure
  "40P01", // deadlock
  "25P03", // idle in transaction timeout
  "58", // system errors
];

/** The 503 for an error of the database; null when it is something else. */
export function unavailableFrom(error: unknown): Unavailable | null {
  if (error instanceof DatabaseAway) return new Unavailable("the database is away for the moment", 2, error);
  const state = sqlState(error);
  if (state !== null && transient.some((prefix) => state.startsWith(prefix)))
    return new Unavailable("the database is busy; try again", 1, error);
  return null;
}

/** A conflict of two transactions that disappears when ours runs again. */
export function isCollision(error: unknown): boolean {
  const state = sqlState(error);
  return state === "40001" || state === "40P01";
}

/** True if a wait for a lock timed out. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === "55P03";
}

/** The unique or exclusion constraint that an insert or update ran into; null for any other error. */
export function violatedConstraint(error: unknown): string | null {
  const state = sqlState(error);
  if (state !== "23505" && state !== "23P01") return null;
  return (error as pg.DatabaseError).constraint ?? null;
}

/** The foreign key whose target is gone; null for any other error. */
export function violatedReference(error: unknown): string | null {
  return sqlState(error) === "23503" ? ((error as pg.DatabaseError).constraint ?? null) : null;
}

function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}
