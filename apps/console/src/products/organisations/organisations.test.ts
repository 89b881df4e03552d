import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let grace: Visitor;
let path: string;
beforeEach(async () => {
  world = await startPanelWorld(people);
  grace = await world.signedIn("grace");
  path = `/organisations/${world.facts.acme.id}`;
});
afterEach(() => world.stop());

const acme = () => done(world.real.operator.get(path));
/** The limits that are set, in the API's units. */
const limits = async () =>
  Object.fromEntries(
    (await world.real.list("/quotas"))
      .filter(({ limit }) => limit !== null)
      .map(({ name, limit }) => [name, limit]),
  );

test("limits are set beside their use: memory in GB, empty for no limit, other quotas unchanged", async () => {
  const before = { servers: 5, memory_mb: 65_536, disk_gb: 500 };
  await done(world.real.operator.put(`${path}/quotas`, { limits: before }));
  const page = await grace.page(path);
  expect(page).toContain('name="memory_mb"');
  expect(page).toContain('value="64"');
  const set = await grace.submit(path, `${path}/quotas`, { servers: "", vcpu: "0", memory_mb: "1.5" });
  expect(set.headers.get("location")).toBe(`${path}?notice=quotas`);
  expect(await limits()).toEqual({ vcpu: 0, memory_mb: 1536, disk_gb: 500 });
});

test("an invalid limit is refused beside its field, and the whole input is kept", async () => {
  const refused = await grace.submit(path, `${path}/quotas`, {
    servers: "12",
    vcpu: "plenty",
    disk_gb: "-1",
  });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="vcpu-problem"');
  expect(page).toContain('id="disk_gb-problem"');
  expect(page).not.toContain('id="servers-problem"');
  for (const typed of ["12", "plenty", "-1"]) expect(page).toContain(`value="${typed}"`);
  expect(await limits()).toEqual({});
});

test("an organisation is renamed, and an invalid name is refused beside its field", async () => {
  const refused = await grace.submit(path, `${path}/settings`, { name: "" });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain('id="name-problem"');
  const renamed = await grace.submit(path, `${path}/settings`, { name: "Acme Bilişim" });
  expect(renamed.headers.get("location")).toBe(`${path}?notice=renamed`);
  expect(await acme()).toMatchObject({ name: "Acme Bilişim", status: "active" });
  expect(await grace.page(`${path}?notice=renamed`)).toContain("The organisation is renamed.");
});

test("an organisation is created, suspended and resumed", async () => {
  const create = (slug: string) =>
    grace.submit("/organisations/new", "/organisations/new", { name: "İzmir Bilişim", slug });
  const taken = await (await create("acme")).text();
  expect(taken).toMatch(/id="slug-problem">\s*An organisation acme already exists\./);
  expect(taken).toContain('value="İzmir Bilişim"');
  expect(await (await create("Not a slug")).text()).toContain('id="slug-problem"');
  expect(await grace.page("/organisations")).toContain('href="/organisations/new"');
  const made = await create("izmir");
  expect(made.headers.get("location")).toMatch(/^\/organisations\/org_\w+\?notice=created$/);
  await grace.submit(path, `${path}/standing`, { status: "suspended" });
  expect((await acme()).status).toBe("suspended");
  expect(await grace.page(path)).toContain("Resume");
  await grace.submit(path, `${path}/standing`, { status: "active" });
  expect((await acme()).status).toBe("active");
});

test("the page that creates an organisation is closed to everyone but operators", async () => {
  expect((await grace.get("/organisations/new")).status).toBe(200);
  const ada = await world.signedIn("ada");
  expect((await ada.get("/organisations/new")).status).toBe(403);
});
