import type { Schemas } from "@kule/contract/schemas";
import { latestMigration } from "@kule/database/migrate";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database } from "../../platform/database.ts";
import { Unavailable } from "../../platform/errors.ts";
import { hasLiveWorker } from "../../worker/presence.ts";

/**
 * What the installation lacks although this process can serve.
 *
 * @throws Unavailable with the reason why this process cannot serve
 */
export async function readinessOf({
  db,
  deps,
}: Pick<ApiRequest, "db" | "deps">): Promise<Schemas["Readiness"]> {
  if (deps.leaving.aborted) throw new Unavailable("this process is stopping");
  if (!(await isMigrated(db)))
    throw new Unavailable(
      `the database is not migrated to this version yet: it lacks ${latestMigration}; run kule-api migrate`,
      5,
    );
  if (await hasLiveWorker(db)) return { status: "ok", missing: [] };
  const detail = "no worker has been heard of; start kule-api worker, or read why its log says it ended";
  return { status: "degraded", missing: [{ part: "worker", detail }] };
}

async function isMigrated(db: Database): Promise<boolean> {
  const newest = await db
    .selectFrom("kule_migration")
    .select("name")
    .where("name", "=", latestMigration)
    .executeTakeFirst();
  return newest !== undefined;
}
