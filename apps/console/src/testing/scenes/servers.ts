import { done } from "../scene-api.ts";
import { people } from "./people.ts";
import { sceneAfter } from "./scene.ts";

/** Two running servers in the default network of the organisation, which their creation has created. */
export const servers = sceneAfter("servers", people, async (api) => {
  const body = { region: "ist1", image: "ubuntu-24.04", package: "m" };
  const first = await done(api.acme.post("/servers", { ...body, name: "web-1" }));
  const second = await done(api.acme.post("/servers", { ...body, name: "web-2" }));
  await api.agent.work();
  return {
    servers: { "web-1": first.server.id as string, "web-2": second.server.id as string },
    networkId: first.created.network.id as string,
    subnetId: first.created.subnet.id as string,
  };
});
