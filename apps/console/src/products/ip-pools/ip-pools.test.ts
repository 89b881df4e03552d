import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let grace: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  grace = await world.signedIn("grace");
});
afterEach(() => world.stop());

/** All pools but the scene's. */
const pools = async () =>
  (await done(world.real.operator.get("/ip-pools"))).items.filter(
    ({ id }: { id: string }) => id !== world.facts.poolId,
  );

async function makePool(): Promise<string> {
  const made = await grace.submit("/ip-pools/new", "/ip-pools/new", {
    region: "ist1",
    name: "second",
    gateway: "198.51.100.1",
    prefix_length: "24",
    vlan: "",
  });
  const path = (made.headers.get("location") ?? "").split("?")[0] ?? "";
  await grace.submit(path, `${path}/ranges`, { range: "198.51.100.0/26" });
  return path;
}

test("an invalid VLAN is an error at its field, and never means no VLAN", async () => {
  const fields = {
    region: "ist1",
    name: "second",
    gateway: "198.51.100.1",
    prefix_length: "24",
    vlan: "ten",
  };
  const refused = await grace.submit("/ip-pools/new", "/ip-pools/new", fields);
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="vlan-problem"');
  for (const typed of ["second", "198.51.100.1", "ten"]) expect(page).toContain(`value="${typed}"`);
  expect(await pools()).toEqual([]);
});

test("addresses are allocated by number or by name, and withdrawn unless they are reserved", async () => {
  const path = await makePool();
  const allocations = async () =>
    (await done(world.real.operator.get(`${path}/allocations`))).items.map(
      ({ address }: { address: string }) => address.split(".").at(-1),
    );
  const allocate = (fields: Record<string, string>) =>
    grace.submit(path, `${path}/allocations`, {
      organisation_id: world.facts.acme.id,
      count: "",
      addresses: "",
      ...fields,
    });
  const tooMany = await allocate({ count: "63" });
  expect(tooMany.status).toBe(409);
  const page = await tooMany.text();
  expect(page).toMatch(/id="count-problem">\s*Pool second has 62 free addresses, not 63\./);
  expect(page).toContain('value="63"');
  const wrong = await allocate({ count: "a few" });
  expect(await wrong.text()).toContain('id="count-problem"');
  await allocate({ count: "2" });
  await allocate({ addresses: "198.51.100.40, 198.51.100.41\n198.51.100.42" });
  expect(await allocations()).toEqual(["2", "3", "40", "41", "42"]);

  await done(world.real.acme.post("/public-ips", { region: "ist1", address: "198.51.100.2" }));
  const shown = await grace.page(path);
  expect(shown).toContain("The organisation has reserved it and must release it first.");
  const held = await grace.submit(path, `${path}/allocations/198.51.100.2/withdraw`, {});
  expect(held.status).toBe(409);
  expect(await held.text()).toContain("The organisation has taken 198.51.100.2");
  await grace.submit(path, `${path}/allocations/198.51.100.3/withdraw`, {});
  expect(await allocations()).toEqual(["2", "40", "41", "42"]);
});

test("a range or a pool in use cannot be deleted, and the reason is shown", async () => {
  const path = await makePool();
  const { items: ranges } = await done(world.real.operator.get(`${path}/ranges`));
  await grace.submit(path, `${path}/allocations`, {
    organisation_id: world.facts.acme.id,
    count: "1",
    addresses: "",
  });
  const range = await grace.submit(path, `${path}/ranges/${ranges[0].id}/remove`, {});
  expect(await range.text()).toMatch(
    /role="alert">\s*The range cannot go: 198\.51\.100\.2 is allocated, or rests/,
  );
  const page = await grace.page(`${path}/settings`);
  expect(page).toContain("1 of its addresses are allocated, taken or quarantined.");
  expect(page).not.toContain('name="confirm_name"');

  await grace.submit(path, `${path}/allocations/198.51.100.2/withdraw`, {});
  const mistyped = await grace.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "secnod" });
  expect(mistyped.status).toBe(422);
  expect(await mistyped.text()).toContain("That is not its name. Nothing was done.");
  expect(await pools()).toHaveLength(1);
  const deleted = await grace.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "second" });
  expect(deleted.headers.get("location")).toBe("/ip-pools?notice=deleted");
  expect(await pools()).toEqual([]);
});

test("a pool is renamed and described; the address of a refused form leads back to its page", async () => {
  const path = await makePool();
  const changed = await grace.submit(`${path}/settings`, `${path}/settings`, {
    name: "west",
    description: "First hall",
  });
  expect(changed.headers.get("location")).toBe(`${path}/settings?notice=renamed`);
  const page = await grace.page(path);
  expect(page).toContain("<h1>west</h1>");
  expect(page).toContain("First hall");
  expect((await grace.get(`${path}/ranges`)).headers.get("location")).toBe(path);
});

test("a pool's pattern of reverse names is set, shown with an address, corrected at its field, and taken away", async () => {
  const path = await makePool();
  await grace.submit(path, `${path}/allocations`, {
    organisation_id: world.facts.acme.id,
    count: "1",
    addresses: "",
  });
  const submit = (reverseName: string) =>
    grace.submit(`${path}/settings`, `${path}/settings`, {
      name: "second",
      description: "",
      reverse_name: reverseName,
    });
  expect((await submit("*.Static.example.net")).status).toBe(303);
  const page = await grace.page(path);
  expect(page).toContain("*.static.example.net");
  expect(page).toContain("198.51.100.2 → 198-51-100-2.static.example.net");
  const ip = await done(world.real.acme.post("/public-ips", { region: "ist1", address: "198.51.100.2" }));
  const shown = await (await world.signedIn("ada")).page(`/public-ips/${ip.id}`);
  expect(shown).toContain("198-51-100-2.static.example.net");
  expect(shown).toContain("the one by its pool&#39;s pattern");

  const refused = await submit("static.example.net");
  expect(refused.status).toBe(422);
  const form = await refused.text();
  expect(form).toContain('id="reverse_name-problem"');
  expect(form).toContain('value="static.example.net"');
  expect(form).toContain("exactly one star");

  expect((await submit("")).status).toBe(303);
  expect((await done(world.real.operator.get(path))).reverse_name).toBeNull();
});

test("a pool's tabs have breadcrumbs through the list to the operators' pages", async () => {
  const path = await makePool();
  const crumbsOf = async (page: string) => {
    const [crumbs = ""] = /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(await grace.page(page)) ?? [];
    return [...crumbs.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
  };
  expect(await crumbsOf("/ip-pools")).toEqual(["/operator"]);
  for (const page of ["/ip-pools/new", path])
    expect(await crumbsOf(page)).toEqual(["/operator", "/ip-pools"]);
  expect(await crumbsOf(`${path}/settings`)).toEqual(["/operator", "/ip-pools", path]);
});

test("without a region no pool can be created, and the page leads to the form of a region", async () => {
  // No call deletes a region.
  await world.real.sql("set session_replication_role = replica");
  await world.real.sql("delete from region");
  await world.real.sql("set session_replication_role = origin");
  const page = await grace.page("/ip-pools/new");
  expect(page).toContain('href="/operator/regions/new"');
  expect(page).not.toContain('action="/ip-pools/new"');
});
