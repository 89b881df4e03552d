import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { seedNetworks } from "../../testing/seed-networks.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedNetworks(world.api.state);
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

test("every list is searched for any text: names, labels, addresses", async () => {
  const ada = await new Visitor(world).signIn();
  const asked = async (text: string) => {
    const before = world.api.calls.length;
    await ada.page(`/search?q=${encodeURIComponent(text)}`);
    return world.api.calls
      .slice(before)
      .filter((call) => call.includes("limit=6"))
      .map((call) => call.replace(/[?&]limit=6/, "").replace("&", "?"))
      .sort();
  };
  const lists = ["firewalls", "gateways", "networks", "public-ips", "servers", "ssh-keys"];
  for (const [text, sent] of [
    ["env=pro", "env%3Dpro"],
    ["10.1.0", "10.1.0"],
    ["env", "env"],
  ] as const)
    expect(await asked(text)).toEqual(lists.map((list) => `GET /${list}?q=${sent}`));
});
