import type { SceneApi } from "../scene-api.ts";
import { done } from "../scene-api.ts";
import { people } from "./people.ts";
import { sceneAfter } from "./scene.ts";

const tiers = [
  ["app", "app", 3],
  ["jobs", "app", 1],
  ["admin", "mgmt", 1],
  ["db", "data", 2],
] as const;

type Ids = { readonly [name: string]: string };

/**
 * Network `shop` with subnets of every tier and servers in them, of which `app-3` is stopped and `app-1` has the
 * public address 203.0.113.10, and networks `staging` and `office` beside it.
 */
export const networks = sceneAfter("networks", people, async (api) => {
  const shop = await addNetwork(api, "shop", "10.20.0.0/16", "The shop and its workers");
  const subnets: { [name: string]: string } = {};
  const servers: { [name: string]: string } = {};
  for (const [at, [name, tier, count]] of tiers.entries()) {
    const body = { name, tier, cidr: `10.20.${at}.0/24` };
    const { subnet } = await done(api.acme.post(`/networks/${shop}/subnets`, body));
    subnets[name] = subnet.id;
    for (let number = 1; number <= count; number++)
      servers[`${name}-${number}`] = await addServer(api, `${name}-${number}`, {
        subnet_id: subnet.id,
        private_ip: `10.20.${at}.${9 + number}`,
        labels: { role: tier === "app" ? "web" : tier },
        start: number !== 3,
      });
  }
  const staging = await addNetwork(api, "staging", "10.20.0.0/16", "");
  const office = await addNetwork(api, "office", "10.30.0.0/16", "");
  await api.agent.work();
  const ip = await done(api.acme.post("/public-ips", { region: "ist1", address: "203.0.113.10" }));
  await done(api.acme.post(`/public-ips/${ip.id}/attach`, { server_id: servers["app-1"] }));
  await api.agent.work();
  const ids: { readonly [kind in "networks" | "subnets" | "servers" | "publicIps"]: Ids } = {
    networks: { shop, staging, office },
    subnets,
    servers,
    publicIps: { "203.0.113.10": ip.id },
  };
  return ids;
});

async function addNetwork(api: SceneApi, name: string, cidr: string, description: string): Promise<string> {
  const body = { name, region: "ist1", cidr, description };
  return (await done(api.acme.post("/networks", body))).network.id;
}

async function addServer(api: SceneApi, name: string, more: object): Promise<string> {
  const body = { name, region: "ist1", image: "debian-13", package: "s", ...more };
  return (await done(api.acme.post("/servers", body))).server.id;
}
