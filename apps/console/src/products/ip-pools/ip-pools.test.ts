import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let grace: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

async function makePool(): Promise<string> {
  const made = await grace.submit("/ip-pools/new", "/ip-pools/new", {
    region: "ist1",
    name: "public",
    gateway: "203.0.113.1",
    prefix_length: "24",
    vlan: "",
  });
  const path = (made.headers.get("location") ?? "").split("?")[0] ?? "";
  await grace.submit(path, `${path}/ranges`, { range: "203.0.113.0/26" });
  return path;
}

test("an invalid VLAN is an error at its field, and never means no VLAN", async () => {
  const fields = { region: "ist1", name: "public", gateway: "203.0.113.1", prefix_length: "24", vlan: "ten" };
  const refused = await grace.submit("/ip-pools/new", "/ip-pools/new", fields);
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="vlan-problem"');
  for (const typed of ["public", "203.0.113.1", "ten"]) expect(page).toContain(`value="${typed}"`);
  expect(world.api.state.ipPools).toEqual([]);
});

test("addresses are allocated by number or by name, and withdrawn unless they are reserved", async () => {
  const path = await makePool();
  const organisation = world.api.state.organisations[0]?.id ?? "";
  const allocate = (fields: Record<string, string>) =>
    grace.submit(path, `${path}/allocations`, {
      organisation_id: organisation,
      count: "",
      addresses: "",
      ...fields,
    });
  const tooMany = await allocate({ count: "63" });
  expect(tooMany.status).toBe(409);
  const page = await tooMany.text();
  expect(page).toMatch(/id="count-problem">\s*Pool public has 62 free addresses, not 63\./);
  expect(page).toContain('value="63"');
  const wrong = await allocate({ count: "a few" });
  expect(await wrong.text()).toContain('id="count-problem"');
  await allocate({ count: "2" });
  await allocate({ addresses: "203.0.113.40, 203.0.113.41\n203.0.113.42" });
  const [pool] = world.api.state.ipPools;
  expect(pool?.allocations.map(({ address }) => address.split(".").at(-1))).toEqual([
    "2",
    "3",
    "40",
    "41",
    "42",
  ]);

  const [first] = pool?.allocations ?? [];
  if (first === undefined) throw new Error("nothing was allocated");
  Object.assign(first, { state: "taken" });
  const shown = await grace.page(path);
  expect(shown).toContain("The organisation has reserved it and must release it first.");
  const held = await grace.submit(path, `${path}/allocations/203.0.113.2/withdraw`, {});
  expect(held.status).toBe(409);
  expect(await held.text()).toContain("The organisation has taken 203.0.113.2.");
  await grace.submit(path, `${path}/allocations/203.0.113.3/withdraw`, {});
  expect(pool?.allocations).toHaveLength(4);
});

test("a range or a pool in use cannot be deleted, and the reason is shown", async () => {
  const path = await makePool();
  const [pool] = world.api.state.ipPools;
  const organisation = world.api.state.organisations[0]?.id ?? "";
  await grace.submit(path, `${path}/allocations`, {
    organisation_id: organisation,
    count: "1",
    addresses: "",
  });
  const range = await grace.submit(path, `${path}/ranges/${pool?.ranges[0]?.id}/remove`, {});
  expect(await range.text()).toMatch(/role="alert">\s*The range cannot go: 203\.0\.113\.2 is allocated\./);
  const page = await grace.page(`${path}/settings`);
  expect(page).toContain("1 of its addresses are allocated, taken or quarantined.");
  expect(page).not.toContain('name="confirm_name"');

  await grace.submit(path, `${path}/allocations/203.0.113.2/withdraw`, {});
  const mistyped = await grace.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "pubic" });
  expect(mistyped.status).toBe(422);
  expect(await mistyped.text()).toContain("That is not its name. Nothing was done.");
  expect(world.api.state.ipPools).toHaveLength(1);
  const deleted = await grace.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "public" });
  expect(deleted.headers.get("location")).toBe("/ip-pools?notice=deleted");
  expect(world.api.state.ipPools).toEqual([]);
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
  world.api.state.regions.length = 0;
  const page = await grace.page("/ip-pools/new");
  expect(page).toContain('href="/operator/regions/new"');
  expect(page).not.toContain('action="/ip-pools/new"');
});
