import { haveSecondFactor, linkProvider } from "../account-states.ts";
import { haveDrift, haveStuckJobs } from "../region-troubles.ts";
import { done, type SceneApi } from "../scene-api.ts";
import { everything } from "./everything.ts";
import { sceneAfter } from "./scene.ts";

/**
 * Everything, and what an operator has to look at: VMs that differ, an incomplete scan, and stuck jobs. Ada has linked a
 * provider, Mia has a second factor, and a serial console of `app-1` is open. The first rows of lists are the ones whose
 * pages have most on them. Worlds of it call `refreshTroubles`.
 */
export const troubled = sceneAfter("troubled", everything, async (api, facts) => {
  const { jobs, people, subnets, servers } = facts;
  const place = { subnet_id: subnets.app };
  await haveDrift(api, place);
  await haveStuckJobs(api, place);
  await listFirst(api, "server", "name", ["app-1", "app-2", "app-3", "failed", "not-claimed", "jobs-1"]);
  await listFirst(api, "network", "name", ["shop"]);
  await listFirst(api, "public_ip", "host(address)", ["203.0.113.10"]);
  await listFirst(api, "job", "id", [jobs.running, jobs.failed]);
  await linkProvider(api, people.ada.id, "ada@acme.example");
  await haveSecondFactor(api, people.mia.id);
  await openConsole(api, servers["app-1"] ?? "");
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

/** A session that has been opened and used, without its sockets. */
async function openConsole(api: SceneApi, serverId: string): Promise<void> {
  await done(api.acme.post(`/servers/${serverId}/console`, {}));
  await api.sql(
    `update console_session
        set state = 'open', ticket_hash = null, replica_id = 'rep_gone', bytes_in = 412, bytes_out = 48230,
            redeemed_at = clock_timestamp(), claimed_at = clock_timestamp(), opened_at = clock_timestamp(),
            last_input_at = clock_timestamp()
      where id = (select id from console_session where server_id = $1 order by created_at desc limit 1)`,
    [serverId],
  );
}
