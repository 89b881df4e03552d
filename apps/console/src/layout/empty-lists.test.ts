import { afterAll, beforeAll, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../testing/panel-world.ts";
import { everything } from "../testing/scenes/everything.ts";
import { type People, people } from "../testing/scenes/people.ts";
import type { FactsOf } from "../testing/scenes/scene.ts";

/** Only read: one world with something in every list, and one without. */
let full: PanelWorld<FactsOf<typeof everything>>;
let empty: PanelWorld<People>;
beforeAll(async () => {
  full = await startPanelWorld(everything);
  empty = await startPanelWorld(people);
  await empty.real.sql("delete from token where kind = 'organisation'");
});
afterAll(async () => {
  await full?.stop();
  await empty?.stop();
});

const primaryLinks = (html: string) =>
  [...html.matchAll(/<a class="button" data-kind="primary" href="([^"]*)"/g)].map(([, href = ""]) => href);

test.each([
  "/servers",
  "/networks",
  "/firewalls",
  "/gateways",
  "/load-balancers",
  "/public-ips",
  "/domains",
  "/certificates",
  "/ssh-keys",
  "/tokens",
])(
  "%s has one primary button, to the page that creates one, and none for a role that may not",
  async (page) => {
    const ada = await full.signedIn("ada");
    const list = await ada.page(page);
    expect(list).not.toContain('<div class="empty">');
    const links = primaryLinks(list);
    expect(links).toEqual([`${page}/new`]);
    expect((await ada.get(links[0] ?? "")).status).toBe(200);
    const nothing = await (await empty.signedIn("ada")).page(page);
    expect(primaryLinks(nothing)).toEqual(links);
    expect(nothing).toContain('<div class="empty">');
    expect(nothing.slice(nothing.indexOf('<div class="empty">'))).toContain(`href="${links[0]}"`);
    for (const { signedIn } of [full, empty])
      expect(primaryLinks(await (await signedIn("vera")).page(page))).toEqual([]);
  },
);
