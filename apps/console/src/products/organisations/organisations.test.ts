import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let grace: Visitor;
let path: string;
beforeEach(async () => {
  world = await startConsoleWorld();
  grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  path = `/organisations/${world.api.state.organisations[0]?.id}`;
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

test("limits are set beside their use: memory in GB, empty for no limit, other quotas unchanged", async () => {
  const page = await grace.page(path);
  expect(page).toContain('name="memory_mb"');
  expect(page).toContain('value="64"');
  const set = await grace.submit(path, `${path}/quotas`, { servers: "", vcpu: "0", memory_mb: "1.5" });
  expect(set.headers.get("location")).toBe(`${path}?notice=quotas`);
  expect([...world.api.state.limits]).toEqual([
    ["servers", null],
    ["vcpu", 0],
    ["memory_mb", 1536],
  ]);
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
  expect(world.api.state.limits.size).toBe(0);
});

test("an organisation is renamed, and an invalid name is refused beside its field", async () => {
  const refused = await grace.submit(path, `${path}/settings`, { name: "" });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain('id="name-problem"');
  const renamed = await grace.submit(path, `${path}/settings`, { name: "Acme Bilişim" });
  expect(renamed.headers.get("location")).toBe(`${path}?notice=renamed`);
  expect(world.api.state.organisations[0]).toMatchObject({ name: "Acme Bilişim", status: "active" });
  expect(await grace.page(`${path}?notice=renamed`)).toContain("The organisation is renamed.");
});

test("an organisation is created, suspended and resumed", async () => {
  const create = (slug: string) =>
    grace.submit("/organisations/new", "/organisations/new", { name: "İzmir Bilişim", slug });
  const taken = await (await create("acme")).text();
  expect(taken).toMatch(/id="slug-problem">\s*An organisation acme exists\./);
  expect(taken).toContain('value="İzmir Bilişim"');
  expect(await (await create("Not a slug")).text()).toContain('id="slug-problem"');
  expect(await grace.page("/organisations")).toContain('href="/organisations/new"');
  const made = await create("izmir");
  expect(made.headers.get("location")).toMatch(/^\/organisations\/org_\w+\?notice=created$/);
  await grace.submit(path, `${path}/standing`, { status: "suspended" });
  expect(world.api.state.organisations[0]?.status).toBe("suspended");
  expect(await grace.page(path)).toContain("Resume");
  await grace.submit(path, `${path}/standing`, { status: "active" });
  expect(world.api.state.organisations[0]?.status).toBe("active");
});

test("the page that creates an organisation is closed to everyone but operators", async () => {
  expect((await grace.get("/organisations/new")).status).toBe(200);
  const ada = await new Visitor(world).signIn();
  expect((await ada.get("/organisations/new")).status).toBe(403);
});
