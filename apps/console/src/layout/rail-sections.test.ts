import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../testing/console-world.ts";
import { seedEverything } from "../testing/seed-everything.ts";
import { Visitor } from "../testing/visitor.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedEverything(world.api.state);
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const products = [
  "/servers",
  "/networks",
  "/gateways",
  "/firewalls",
  "/public-ips",
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
  const ada = await new Visitor(world).signIn();
  const { rail, entries } = railOf(await ada.page("/servers"));
  expect(entries).toEqual([...products, "/members", "/tokens", "/audit", "/quotas"]);
  expect(rail).toMatch(/id="organisation-sections">\s*Organisation\s*</);
  const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
  const ofViewer = railOf(await vera.page("/servers")).entries;
  expect(ofViewer).not.toContain("/tokens");
  expect(ofViewer).toContain("/quotas");
});

test("each page marks its own entry, and the pages of the organisation have no tabs of their own", async () => {
  const ada = await new Visitor(world).signIn();
  for (const path of [...products, "/members", "/tokens", "/audit", "/quotas"]) {
    const page = await ada.page(path);
    expect(railOf(page).current, path).toBe(path);
    if (!products.includes(path)) expect(page, path).not.toContain('class="tabs"');
  }
  const [gateway] = world.api.state.gateways;
  expect(railOf(await ada.page(`/gateways/${gateway?.id}`)).current).toBe("/gateways");
});

test("operators have an entry of their own, without an organisation and in one", async () => {
  const grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  expect(railOf(await grace.page("/operator")).entries).toEqual([...products, "/operator"]);
  await grace.submit("/organisations", "/organisations", {
    organisation_id: world.api.state.organisations[0]?.id ?? "",
  });
  const { entries, current } = railOf(await grace.page("/operator"));
  expect(entries.slice(-2)).toEqual(["/quotas", "/operator"]);
  expect(current).toBe("/operator");
});

test("a phone's menu has every entry that its bar does not show", async () => {
  const ada = await new Visitor(world).signIn();
  const page = await ada.page("/members");
  const { rail, entries, menu } = railOf(page);
  const shown = [...rail.matchAll(/href="([^"]*)"[^>]*data-on-phones/g)].map(([, href]) => href);
  expect(shown).toEqual(onPhones);
  expect([...onPhones, ...menu].toSorted()).toEqual(entries.toSorted());
  expect(page).toMatch(/<summary data-here="">/);
});
