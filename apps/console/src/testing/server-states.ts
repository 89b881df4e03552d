import { done, type SceneApi } from "./scene-api.ts";

/** Deletes all servers of the organisation and lets their removals end, with the quarantine of their addresses. */
export async function destroyServers(api: SceneApi): Promise<void> {
  for (const { id } of await api.list("/servers?limit=200"))
    await done(api.acme.delete(`/servers/${id}?purge=true`));
  await api.agent.work();
  await endQuarantines(api);
}

/** The addresses of detached and deleted servers are free again. */
export async function endQuarantines(api: SceneApi): Promise<void> {
  await api.sql("update address set free_after = clock_timestamp() where state = 'quarantined'");
}

/** Switches a running server off. */
export async function stopServer(api: SceneApi, path: string): Promise<void> {
  await done(api.acme.post(`${path}/power`, { action: "stop" }));
  await api.agent.work();
}

/** The region has not seen the server for so long. */
export async function becomeStale(api: SceneApi, serverId: string, seconds: number): Promise<void> {
  await api.sql(
    "update server set observed_at = clock_timestamp() - make_interval(secs => $2) where id = $1",
    [serverId, seconds],
  );
}

/** Reserves every public address that the organisation can have. */
export async function takeAddresses(api: SceneApi): Promise<void> {
  while ((await api.acme.post("/public-ips", { region: "ist1" })).status === 201);
}

/** Stops a server, which ran from the first time to the second, for its usage. */
export async function haveRun(api: SceneApi, path: string, from: string, to: string): Promise<void> {
  await stopServer(api, path);
  await api.sql(
    "update usage_segment set started_at = $2, ended_at = $3 where resource_id = $1 and kind = 'compute'",
    [path.split("/").at(-1), from, to],
  );
}
