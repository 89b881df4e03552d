import pg from "pg";
import { expireRemovalBuffer } from "../../worker/expire-removal-buffer.ts";
import type { ApiWorld } from "../api-world.ts";
import { runJob } from "./region-agent.ts";
import type { Tenant } from "./tenant.ts";

/** Ends a marked server's buffer now, as the worker would, and lets the region destroy it. */
export async function destroyNow(world: ApiWorld, tenant: Tenant, serverId: string): Promise<void> {
  await turnClock(world, serverId);
  const { db } = world.replica.deps;
  if (!(await expireRemovalBuffer({ db }, tenant.id, serverId))) throw new Error("the buffer did not end");
  const jobs = await tenant.owner.get(`/jobs?resource=${serverId}&kind=ServerDestroy`);
  await runJob(tenant.region.agent, jobs.body.items[0].id, {
    status: "succeeded",
    observed: { power_state: "unknown" },
  });
}

/** As the owner of the tables: the API's own role does nothing that the API does not do. */
async function turnClock(world: ApiWorld, serverId: string): Promise<void> {
  const owner = new pg.Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query("update server set purge_at = clock_timestamp() where id = $1", [serverId]);
  } finally {
    await owner.end();
  }
}
