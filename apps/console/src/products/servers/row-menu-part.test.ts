import { afterAll, beforeAll, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { everything } from "../../testing/scenes/everything.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";

let world: PanelWorld<FactsOf<typeof everything>>;
beforeAll(async () => {
  world = await startPanelWorld(everything);
});
afterAll(() => world.stop());

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

const idOf = (name: string) => world.facts.servers[name] ?? "";

test("a row links to its server's actions, and each of these pages exists", async () => {
  const ada = await world.signedIn("ada");
  const id = idOf("db-1");
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
  const ada = await world.signedIn("ada");
  const id = idOf("db-2");
  // Its VM is to have the new name: a job that waits while the server runs.
  await done(world.real.acme.patch(`/servers/${id}`, { name: "db-renamed" }));
  const { off } = menuIn(await ada.page("/servers"), id);
  const ofJob = off.filter(({ why }) => why?.includes("open job"));
  expect(ofJob.length).toBeGreaterThan(2);
  expect(ofJob.map(({ look }) => look)).toEqual([...ofJob.slice(1).map(() => "visually-hidden"), "why"]);
});

test("a server in the removal buffer offers only cancelling the deletion", async () => {
  const ada = await world.signedIn("ada");
  const id = idOf("app-3");
  expect(menuIn(await ada.page("/servers"), id)).toEqual({
    links: [["Call off the deletion", `/servers/selected?act=restore&ids=${id}`]],
    off: [],
  });
});

test("a viewer has no menu", async () => {
  const vera = await world.signedIn("vera");
  const page = await vera.page("/servers");
  expect(page).toContain("db-1");
  expect(page).not.toContain("row-menu");
});
