import { afterAll, beforeAll, expect, test } from "vitest";
import { callsIn, wrongInCall } from "../../testing/calls-in.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import type { Visitor } from "../../testing/visitor.ts";

// These tests read and change nothing.
let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeAll(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterAll(() => world.stop());

const header = ["getServer", "powerServer", "resizeServer", "openServerConsole"];

test.each([
  ["", []],
  ["/network", ["createPublicIp", "detachPublicIp"]],
  ["/console-sessions", ["listServerConsoleSessions", "resetServerPassword"]],
  ["/settings", ["updateServer", "rebuildServer", "deleteServer"]],
] as const)(
  "the tab %s of a server shows its actions as calls that the contract accepts",
  async (tab, own) => {
    const server = `/servers/${world.facts.servers["app-1"]}`;
    const page = await ada.page(`${server}${tab}`);
    const calls = callsIn(page);
    expect(calls.map(({ operation }) => operation)).toEqual([...header, ...own]);
    for (const call of calls) {
      if (call.operation.endsWith("Server")) expect(call.text).toContain(`${world.api.url}${server}`);
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
