import { afterAll, beforeAll, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../testing/panel-world.ts";
import { everything } from "../testing/scenes/everything.ts";
import type { FactsOf } from "../testing/scenes/scene.ts";

/** Only read. */
let world: PanelWorld<FactsOf<typeof everything>>;
beforeAll(async () => {
  world = await startPanelWorld(everything);
});
afterAll(() => world?.stop());

const products = [
  "/servers",
  "/networks",
  "/gateways",
  "/load-balancers",
  "/firewalls",
  "/public-ips",
  "/domains",
  "/certificates",
  "/ssh-keys",
  "/jobs",
  "/usage",
];
const onPhones = ["/servers", "/networks", "/firewalls", "/public-ips"];

const hrefsIn = (html: string) => [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map(([, href]) => href);

/** The entries of the rail, and those of the menu that a phone has instead of most of them. */
function railOf(page: string) {
  const nav = /<nav class="sections"[\s\S]*?<\/nav>/.exec(page)?.[0] ?? "";
  const [rail = "", menu = ""] = nav.split("<details");
  const current = /<a\s[^>]*?href="([^"]*)"[^>]*aria-current="page"/.exec(rail)?.[1];
  return { rail, entries: hrefsIn(rail), menu: hrefsIn(menu), current };
}

test("the rail has the products, and below a heading the organisation's pages that the role may read", async () => {
  const ada = await world.signedIn("ada");
  const { rail, entries } = railOf(await ada.page("/servers"));
  expect(entries).toEqual([...products, "/members", "/tokens", "/audit", "/quotas"]);
  expect(rail).toMatch(/id="organisation-sections">\s*Organisation\s*</);
  const vera = await world.signedIn("vera");
  const ofViewer = railOf(await vera.page("/servers")).entries;
  expect(ofViewer).not.toContain("/tokens");
  expect(ofViewer).toContain("/quotas");
});

test("each page marks its own entry, and the pages of the organisation have no tabs of their own", async () => {
  const ada = await world.signedIn("ada");
  for (const path of [...products, "/members", "/tokens", "/audit", "/quotas"]) {
    const page = await ada.page(path);
    expect(railOf(page).current, path).toBe(path);
    if (!products.includes(path)) expect(page, path).not.toContain('class="tabs"');
  }
  const gateway = `/gateways/${world.facts.gateways.out}`;
  expect(railOf(await ada.page(gateway)).current).toBe("/gateways");
});

test("operators have an entry of their own, without an organisation and in one", async () => {
  const grace = await world.signedIn("grace");
  expect(railOf(await grace.page("/operator")).entries).toEqual([...products, "/operator"]);
  await grace.submit("/organisations", "/organisations", { organisation_id: world.facts.acme.id });
  const { entries, current } = railOf(await grace.page("/operator"));
  expect(entries.slice(-2)).toEqual(["/quotas", "/operator"]);
  expect(current).toBe("/operator");
});

test("a phone's menu has every entry that its bar does not show", async () => {
  const ada = await world.signedIn("ada");
  const page = await ada.page("/members");
  const { rail, entries, menu } = railOf(page);
  const shown = [...rail.matchAll(/href="([^"]*)"[^>]*data-on-phones/g)].map(([, href]) => href);
  expect(shown).toEqual(onPhones);
  expect([...onPhones, ...menu].toSorted()).toEqual(entries.toSorted());
  expect(page).toMatch(/<summary data-here="">/);
});
