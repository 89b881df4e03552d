import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { seedEverything } from "../../testing/seed-everything.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedEverything(world.api.state);
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

/** The menu of a server's row: the targets of its links, and its disabled items with their reasons. */
function menuIn(html: string, id: string) {
  const [, menu = ""] =
    new RegExp(`<details class="menu row-menu" id="acts-${id}">(.*?)</details>`).exec(html) ?? [];
  return {
    links: [...menu.matchAll(/<a href="([^"]*)"[^>]*>([^<]*)</g)].map(([, path = "", label = ""]) => [
      label,
      path.replaceAll("&amp;", "&"),
    ]),
    off: [...menu.matchAll(/class="row-menu-off">([^<]*)<small class="([^"]*)">([^<]*)</g)].map(
      ([, label, look, why]) => ({ label, look, why }),
    ),
  };
}

const serverNamed = (name: string) => {
  const server = world.api.state.servers.find((each) => each.name === name);
  if (server === undefined) throw new Error(`no ${name}`);
  return server;
};

test("a row links to its server's actions, and each of these pages exists", async () => {
  const ada = await new Visitor(world).signIn();
  const { id } = serverNamed("db-1");
  const { links } = menuIn(await ada.page("/servers"), id);
  expect(links).toEqual([
    ["Open console", `/servers/${id}/console`],
    ["Shut down", `/servers/selected?act=shutdown&ids=${id}`],
    ["Reboot", `/servers/selected?act=reboot&ids=${id}`],
    ["Stop", `/servers/selected?act=stop&ids=${id}`],
    ["Resize", `/servers/${id}/resize`],
    ["Delete", `/servers/${id}/settings#delete`],
  ]);
  for (const [, path = ""] of links) expect((await ada.get(path)).status, path).toBe(200);
  expect(await ada.page(`/servers/${id}/settings`)).toContain('id="delete"');
});

test("unavailable actions are disabled, and a shared reason is shown once, below them", async () => {
  const ada = await new Visitor(world).signIn();
  const { off } = menuIn(await ada.page("/servers"), serverNamed("app-1").id);
  const ofJob = off.filter(({ why }) => why?.includes("open job"));
  expect(ofJob.length).toBeGreaterThan(2);
  expect(ofJob.map(({ look }) => look)).toEqual([...ofJob.slice(1).map(() => "visually-hidden"), "why"]);
});

test("a server in the removal buffer offers only cancelling the deletion", async () => {
  const ada = await new Visitor(world).signIn();
  const { id } = serverNamed("app-3");
  expect(menuIn(await ada.page("/servers"), id)).toEqual({
    links: [["Call off the deletion", `/servers/selected?act=restore&ids=${id}`]],
    off: [],
  });
});

test("a viewer has no menu", async () => {
  const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
  const page = await vera.page("/servers");
  expect(page).toContain("db-1");
  expect(page).not.toContain("row-menu");
});
