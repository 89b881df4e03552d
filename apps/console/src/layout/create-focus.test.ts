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

/** The names of the fields of a page that a browser may give the focus to; it takes the first. */
const focused = (html: string) =>
  [...html.matchAll(/<(?:input|textarea|select)\s[^>]*\bautofocus\b[^>]*>/g)].map(
    ([tag]) => /\bname="([^"]*)"/.exec(tag)?.[1],
  );

test.each([
  ["ada", "/servers/new", "name"],
  ["ada", "/networks/new", "name"],
  ["ada", "/firewalls/new", "name"],
  ["ada", "/gateways/new?network=", "name"],
  ["ada", "/load-balancers/new", "name"],
  ["ada", "/domains/new", "name"],
  ["ada", "/certificates/new", "name"],
  ["ada", "/ssh-keys/new", "name"],
  ["ada", "/tokens/new", "name"],
  ["ada", "/members/invite", "email"],
  ["grace", "/organisations/new", "name"],
  ["grace", "/ip-pools/new", "name"],
  ["grace", "/operator/regions/new", "slug"],
] as const)("%s can type at once on %s: the %s has the focus", async (person, path, field) => {
  const visitor = await world.signedIn(person);
  const page = path.endsWith("=") ? `${path}${world.facts.networks.staging}` : path;
  expect(focused(await visitor.page(page))).toEqual([field]);
});
