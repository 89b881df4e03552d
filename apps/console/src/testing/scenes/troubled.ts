import { haveSecondFactor, linkProvider } from "../account-states.ts";
import { changeAtProvider, sign } from "../domain-states.ts";
import { haveDrift, haveStuckJobs } from "../region-troubles.ts";
import type { SceneApi } from "../scene-api.ts";
import { everything } from "./everything.ts";
import { sceneAfter } from "./scene.ts";

/**
 * Everything, and what an operator has to look at: VMs that differ, an incomplete scan, and stuck jobs. Ada has linked a
 * provider, and Mia has a second factor. The first rows of lists are the ones whose pages have most on them. Worlds of it
 * call `refreshTroubles`.
 */
export const troubled = sceneAfter("troubled", everything, async (api, facts) => {
  const { domains, jobs, people, subnets } = facts;
  const place = { subnet_id: subnets.app };
  await haveDrift(api, place);
  await haveStuckJobs(api, place);
  await listFirst(api, "server", "name", ["app-1", "app-2", "app-3", "failed", "not-claimed", "jobs-1"]);
  await listFirst(api, "network", "name", ["shop"]);
  await listFirst(api, "public_ip", "host(address)", ["203.0.113.10"]);
  await changeAtProvider(api, domains.shop);
  await sign(api, domains.shop);
  await listFirst(api, "domain", "name", ["shop.example", "waiting.example"]);
  await listFirst(api, "job", "id", [jobs.running, jobs.failed]);
  await linkProvider(api, people.ada.id, "ada@acme.example");
  await haveSecondFactor(api, people.mia.id);
  return {};
});

/** Lists begin with the newest. */
async function listFirst(api: SceneApi, table: string, by: string, first: readonly string[]): Promise<void> {
  await api.sql(
    `update ${table} set created_at = case when ${by} = any ($1::text[])
       then clock_timestamp() - make_interval(secs => array_position($1, ${by}))
       else created_at - interval '1 hour' end`,
    [first],
  );
}
