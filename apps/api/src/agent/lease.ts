import type { ApiRequest } from "../platform/api-request.ts";
import type { Database, Tx } from "../platform/database.ts";
import { systemQuery } from "../platform/database.ts";
import { Forbidden } from "../platform/errors.ts";

const reason = "an agent acts for its region, in whichever organisation the job is";

/** The region an agent's token is bound to. */
export function regionOf(request: ApiRequest): string {
  const { region } = request.caller;
  if (region === null) throw new Forbidden([request.operation.permission]);
  return region;
}

/** A transaction that is of the region and no one organisation. */
export function inRegion<Result>(db: Database, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return db.transaction().execute((tx) => work(systemQuery(tx, reason)));
}
