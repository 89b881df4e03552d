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
  const ada = await new Visitor(world).signIn();
  const server = world.api.state.servers.at(-1);
  const page = `/servers/${server?.id}`;
  for (const [path, above, here] of [
    ["/tokens/new", ["/tokens"], "Create token"],
    ["/members/invite", ["/members"], "Invite a person"],
    ["/usage/events", ["/usage"], "Usage events"],
    ["/usage/segments", ["/usage"], "Segments"],
    ["/account/passkeys/new", ["/account/security"], "Add a passkey"],
    ["/account/proof", ["/account/security"], "Is it you?"],
    ["/servers/new", ["/servers"], "Create server"],
    [`${page}/resize`, ["/servers", page], "Resize"],
    [`/jobs/${world.api.state.jobs[0]?.id}`, ["/jobs"], null],
  ] as const) {
    const crumbs = crumbsIn(await ada.page(path));
    expect(crumbs?.above, path).toEqual(above);
    if (here !== null) expect(crumbs?.here, path).toBe(here);
  }
  for (const path of ["/tokens", "/members", "/quotas", "/audit", "/usage", "/jobs", "/account/security"])
    expect(crumbsIn(await ada.page(path)), path).toBeNull();
});

test("a page of operators shows the way back to their first page, or to the server that it is about", async () => {
  const grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  const [organisation] = world.api.state.organisations;
  const [server] = world.api.state.servers;
  await grace.submit("/organisations", "/organisations", { organisation_id: organisation?.id ?? "" });
  const regions = ["/operator", "/operator/regions"];
  const organisations = ["/operator", "/organisations"];
  const onServer = ["/servers", `/servers/${server?.id}`];
  for (const [path, above] of [
    ["/operator/regions/new", regions],
    ["/operator/regions/ist1", regions],
    ["/operator/drift", ["/operator"]],
    ["/operator/import", ["/operator"]],
    ["/operator/audit", ["/operator"]],
    ["/operator/invariants", ["/operator"]],
    ["/organisations", ["/operator"]],
    ["/organisations/new", organisations],
    [`/organisations/${organisation?.id}`, organisations],
    [`/operator/servers/${server?.id}/lock`, onServer],
    [`/operator/servers/${server?.id}/reconcile`, onServer],
  ] as const) {
    const crumbs = crumbsIn(await grace.page(path));
    expect(crumbs?.above, path).toEqual(above);
    for (const each of crumbs?.above ?? []) expect((await grace.get(each)).status, each).toBeLessThan(400);
  }
});
