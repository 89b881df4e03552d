import { sql } from "kysely";
import { systemQuery } from "../../platform/database.ts";
import { expireRemovalBuffer } from "../../worker/expire-removal-buffer.ts";
import type { ApiWorld } from "../api-world.ts";
import { runJob } from "./region-agent.ts";
import type { Tenant } from "./tenant.ts";

/** Lets a marked server's buffer end now, as the worker would, and the region destroy it. */
export async function destroyNow(world: ApiWorld, tenant: Tenant, serverId: string): Promise<void> {
  const { db } = world.replica.deps;
  await systemQuery(db, "the test turns the clock")
    .updateTable("server")
    .set({ purge_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", serverId)
    .execute();
  if (!(await expireRemovalBuffer({ db }, tenant.id, serverId))) throw new Error("the buffer did not end");
  const jobs = await tenant.owner.get(`/jobs?resource=${serverId}&kind=ServerDestroy`);
  await runJob(tenant.region.agent, jobs.body.items[0].id, {
    status: "succeeded",
    observed: { power_state: "unknown" },
  });
}
