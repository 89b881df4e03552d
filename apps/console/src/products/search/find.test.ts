import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
beforeEach(async () => {
  world = await startPanelWorld(networks);
});
afterEach(() => world.stop());

test("every list is searched for any text: names, labels, addresses", async () => {
  const ada = await world.signedIn("ada");
  const asked = async (text: string) => {
    const before = world.api.calls.length;
    await ada.page(`/search?q=${encodeURIComponent(text)}`);
    return world.api.calls
      .slice(before)
      .filter((call) => call.includes("limit=6"))
      .map((call) => call.replace(/[?&]limit=6/, "").replace("&", "?"))
      .sort();
  };
  const lists = [
    "certificates",
    "domains",
    "firewalls",
    "gateways",
    "load-balancers",
    "networks",
    "public-ips",
    "servers",
    "ssh-keys",
  ];
  for (const [text, sent] of [
    ["env=pro", "env%3Dpro"],
    ["10.1.0", "10.1.0"],
    ["env", "env"],
  ] as const)
    expect(await asked(text)).toEqual(lists.map((list) => `GET /${list}?q=${sent}`));
});
