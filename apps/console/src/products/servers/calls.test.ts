import { afterEach, beforeEach, expect, test } from "vitest";
import { callsIn, wrongInCall } from "../../testing/calls-in.ts";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { seedNetworks } from "../../testing/seed-networks.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedNetworks(world.api.state);
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const header = ["getServer", "powerServer", "resizeServer", "openServerConsole"];

test.each([
  ["", []],
  ["/network", ["createPublicIp", "detachPublicIp"]],
  ["/console-sessions", ["listServerConsoleSessions", "resetServerPassword"]],
  ["/settings", ["updateServer", "rebuildServer", "deleteServer"]],
] as const)(
  "the tab %s of a server shows its actions as calls that the contract accepts",
  async (tab, own) => {
    const [server] = world.api.state.servers;
    const page = await ada.page(`/servers/${server?.id}${tab}`);
    const calls = callsIn(page);
    expect(calls.map(({ operation }) => operation)).toEqual([...header, ...own]);
    for (const call of calls) {
      if (call.operation.endsWith("Server"))
        expect(call.text).toContain(`${world.api.url}/servers/${server?.id}`);
      expect(call.text).toContain("$TOKEN");
      expect(wrongInCall(call)).toBeNull();
      expect(page).toMatch(new RegExp(`${world.api.url}/docs#/[a-z-]+/${call.operation}"`));
    }
  },
);

test("the form of a new server shows the call that it sends", async () => {
  const [call] = callsIn(await ada.page("/servers/new"));
  expect(call?.operation).toBe("createServer");
  expect(call?.text).toContain(`${world.api.url}/servers`);
});
