import { ApiCaller } from "@kule/api/testing/api-caller";
import { rolledOut } from "@kule/api/testing/rollouts";
import { haveSecondFactor } from "../account-states.ts";
import { addDomain, changeAtProvider, serve, sign } from "../domain-states.ts";
import { haveDrift, haveRestore } from "../region-troubles.ts";
import { done, type SceneApi } from "../scene-api.ts";
import { everything } from "./everything.ts";
import type { People } from "./people.ts";
import { sceneAfter } from "./scene.ts";

/**
 * One of every form that a page can have: beside what is in use, an unused one of each kind, which can be deleted or
 * attached; a domain that is being deleted, and a signed one with drift; a queued job; drift, and a VM that can be imported; open invitations; another organisation of Ada's;
 * members with a second factor.
 */
export const complete = sceneAfter("complete", everything, async (api, facts) => {
  const { acme, agent, operator } = api;
  const { networks, subnets, servers, gateways, firewalls, people, poolId } = facts;
  const own = async (path: string, body: object) => done(acme.post(path, body));
  await haveDrift(api, { subnet_id: subnets.admin });
  await own(`/networks/${networks.shop}/subnets`, { name: "spare", tier: "app", cidr: "10.20.9.0/24" });
  await own("/firewalls", { name: "spare", region: "ist1" });
  await own("/gateways", { name: "spare", network_id: networks.staging });
  await own(`/gateways/${gateways.out}/subnets`, { subnet_id: subnets.jobs });
  // `app-1` has an open job, which allows no other.
  await own(`/firewalls/${firewalls.web}/attachments`, { server_id: servers["jobs-1"] });
  const leaving = await addDomain(api, "leaving.example");
  await serve(api, leaving);
  await done(acme.delete(`/domains/${leaving}`));
  const changed = await addDomain(api, "changed.example");
  await serve(api, changed);
  await changeAtProvider(api, changed);
  await sign(api, changed);
  const ip = await own("/public-ips", { region: "ist1" });
  await own(`/public-ips/${ip.id}/attach`, { server_id: servers["jobs-1"] });
  await agent.work();
  await own(`/servers/${servers["admin-1"]}/power`, { action: "reboot" });
  await api.sql("update job set started_at = started_at - interval '1 hour' where status = 'running'");
  const allocation = { organisation_id: facts.acme.id, addresses: ["203.0.113.31"] };
  await done(operator.post(`/ip-pools/${poolId}/allocations`, allocation));
  await done(operator.post(`/ip-pools/${poolId}/ranges`, { cidr: "203.0.113.64/28" }));
  await done(operator.post("/agent-rollouts", { version: rolledOut }));
  const pool = { region: "ist1", name: "spare", gateway: "198.51.100.1", prefix_length: 24 };
  await done(operator.post("/ip-pools", pool));
  await haveRestore(api);
  await joinAnother(api, people);
  await own("/invitations", { email: "grete@example.org", role: "viewer" });
  const { secret } = await own("/invitations", { email: people.grace.email, role: "viewer" });
  for (const { id } of [people.mia, people.vera]) await haveSecondFactor(api, id);
  return { invitation: secret as string };
});

async function joinAnother(api: SceneApi, { ada }: People["people"]): Promise<void> {
  const { id } = await done(api.operator.post("/organisations", { slug: "spare", name: "Spare" }));
  const there = api.operator.with({ "Kule-Organisation": id });
  const { secret } = await done(there.post("/invitations", { email: ada.email, role: "member" }));
  await done(new ApiCaller(api.app, ada.session.token).post("/me/organisations", { secret }));
}
