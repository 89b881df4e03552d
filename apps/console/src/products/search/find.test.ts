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

test("a label asks the lists that have labels for it, and an incomplete one for names", async () => {
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
  const byLabel = await asked("env=prod");
  expect(byLabel).toHaveLength(4);
  for (const call of byLabel)
    expect(call).toMatch(/^GET \/(servers|networks|firewalls|gateways)\?labels=env%3Dprod$/);
  const byName = await asked("env");
  expect(byName).toHaveLength(5);
  for (const call of byName) expect(call).toMatch(/\?q=env$/);
});
