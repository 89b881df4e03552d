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

/** The addresses of the pages above a page, and the page's own name. */
function crumbsIn(html: string): { readonly above: readonly string[]; readonly here: string } | null {
  const crumbs = /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(html)?.[0];
  if (crumbs === undefined) return null;
  return {
    above: [...crumbs.matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href),
    here: /<li aria-current="page">([^<]*)</.exec(crumbs)?.[1] ?? "",
  };
}

test("a page below the first one of its section shows the way back, and the first one shows none", async () => {
  const ada = await world.signedIn("ada");
  const page = `/servers/${world.facts.servers["db-2"]}`;
  for (const [path, above, here] of [
    ["/tokens/new", ["/tokens"], "Create token"],
    ["/members/invite", ["/members"], "Invite a person"],
    ["/usage/events", ["/usage"], "Usage events"],
    ["/usage/segments", ["/usage"], "Segments"],
    ["/account/passkeys/new", ["/account/security"], "Add a passkey"],
    ["/account/proof", ["/account/security"], "Is it you?"],
    ["/servers/new", ["/servers"], "Create server"],
    [`${page}/resize`, ["/servers", page], "Resize"],
    [`/jobs/${world.facts.jobs.running}`, ["/jobs"], null],
  ] as const) {
    const crumbs = crumbsIn(await ada.page(path));
    expect(crumbs?.above, path).toEqual(above);
    if (here !== null) expect(crumbs?.here, path).toBe(here);
  }
  for (const path of ["/tokens", "/members", "/quotas", "/audit", "/usage", "/jobs", "/account/security"])
    expect(crumbsIn(await ada.page(path)), path).toBeNull();
});

test("a page of operators shows the way back to their first page, or to the server that it is about", async () => {
  const grace = await world.signedIn("grace");
  const { acme, servers } = world.facts;
  const server = servers["app-1"];
  await grace.submit("/organisations", "/organisations", { organisation_id: acme.id });
  const regions = ["/operator", "/operator/regions"];
  const organisations = ["/operator", "/organisations"];
  const onServer = ["/servers", `/servers/${server}`];
  for (const [path, above] of [
    ["/operator/regions/new", regions],
    ["/operator/regions/ist1", regions],
    ["/operator/drift", ["/operator"]],
    ["/operator/import", ["/operator"]],
    ["/operator/audit", ["/operator"]],
    ["/operator/invariants", ["/operator"]],
    ["/operator/restore", ["/operator"]],
    ["/organisations", ["/operator"]],
    ["/organisations/new", organisations],
    [`/organisations/${acme.id}`, organisations],
    [`/operator/servers/${server}/lock`, onServer],
    [`/operator/servers/${server}/reconcile`, onServer],
  ] as const) {
    const crumbs = crumbsIn(await grace.page(path));
    expect(crumbs?.above, path).toEqual(above);
    for (const each of crumbs?.above ?? []) expect((await grace.get(each)).status, each).toBeLessThan(400);
  }
});
