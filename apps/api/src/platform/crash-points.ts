import { AsyncLocalStorage } from "node:async_hooks";
import { type CrashHook, noCrash } from "@kule/crash-points/crash-hook";

/*
 * Boundaries of everything that changes something, where a test kills the process: `api.createServer.before-commit`,
 * `worker.reap_leases.queued`. The code that runs requests, tasks, transactions and jobs passes them, never a
 * handler, so a new operation has them.
 *
 *   before-begin    every check is passed, nothing is written
 *   allocated       the job's resource is written, the job is not
 *   job-written     the job is, its queue entry is not
 *   queued          both are
 *   written         the mutation's work is done, its audit row and its answer are not written
 *   before-commit   everything is in the transaction, or in the one statement that is sent next
 *   committed       COMMIT (or that statement) was answered, and nothing was done since
 *   done            everything is done, and not answered
 *   replied         the answer has been sent
 */
export type ApiCrashPoint =
  | "before-begin"
  | "allocated"
  | "job-written"
  | "queued"
  | "written"
  | "before-commit"
  | "committed"
  | "done"
  | "replied";

type Place = { readonly name: string; readonly hook: CrashHook };

const places = new AsyncLocalStorage<Place>();

/** Runs work whose crash points are called `<name>.<point>`. Outside of tests it only runs it. */
export function withCrashPoints<Result>(
  hook: CrashHook,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return hook === noCrash ? work() : places.run({ name, hook }, work);
}

/** A boundary of the work that is running here; does nothing when none was named. */
export async function crashPoint(point: ApiCrashPoint): Promise<void> {
  const place = places.getStore();
  if (place !== undefined) await place.hook(`${place.name}.${point}`);
}

/** Sends what commits, with the two boundaries that matter most around it. Outside of tests it only sends. */
export function committing<Result>(send: () => Promise<Result>): Promise<Result> {
  return hasCrashPoints() ? betweenBoundaries(send) : send();
}

async function betweenBoundaries<Result>(send: () => Promise<Result>): Promise<Result> {
  await crashPoint("before-commit");
  const result = await send();
  await crashPoint("committed");
  return result;
}

/** Whether a test has set crash points here. */
export function hasCrashPoints(): boolean {
  return places.getStore() !== undefined;
}
