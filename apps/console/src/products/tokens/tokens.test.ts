import { afterEach, beforeEach, expect, test } from "vitest";
import { callsIn, wrongInCall } from "../../testing/calls-in.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import type { Visitor } from "../../testing/visitor.ts";
import { scopeGroups, typedScopes } from "./typed-scopes.ts";

let world: PanelWorld<People>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

/** The tokens of that name: the scene has one of its own. */
const tokens = async (name: string) =>
  (await world.real.list("/tokens")).filter((token) => token.name === name);

const fields = { name: "ci", role: "member", expires_in_days: "30", access: "all" };
const mint = (more: Record<string, string | string[]> = {}) =>
  ada.submit("/tokens/new", "/tokens/new", { ...fields, ...more });

test("a token is created with a role, an expiry and permissions, and its secret is shown once", async () => {
  const made = await mint({ access: "chosen", scope: ["server:read", "job:read"] });
  expect(made.headers.get("location")).toBe("/tokens?notice=created");
  const [token] = await tokens("ci");
  expect(token).toMatchObject({ name: "ci", role: "member", scopes: ["server:read", "job:read"] });
  const days = (Date.parse(token.expires_at) - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(30);
  const page = await ada.page("/tokens?notice=created");
  expect(page).toMatch(/id="shown-once"[^>]*>\s*kule_pat_/);
  expect(page).toContain("I have stored it");
  // The page has no other link that leaves it, since the secret cannot be shown again.
  const leading = ["view-tokens", 'href="/tokens/new"'];
  for (const link of leading) expect(page).not.toContain(link);
  const again = await ada.page("/tokens");
  for (const link of leading) expect(again).toContain(link);
  expect(again).not.toContain("shown-once");
  expect(again).toContain("server:read");
  expect(world.logged()).not.toContain("kule_pat_");
});

test("an organisation without a token says so", async () => {
  const { id } = await done(world.real.operator.post("/organisations", { slug: "beta", name: "Beta Works" }));
  const grace = await world.signedIn("grace");
  await grace.submit("/organisations", "/organisations", { organisation_id: id });
  expect(await grace.page("/tokens")).toContain("No API tokens yet");
});

test.each([
  ["all", [], []],
  ["read", ["server:create"], ["*:read"]],
  ["nonsense", ["server:create"], []],
])("the answer %s stands for the scopes %j", async (access, scope, expected) => {
  await mint({ access, scope });
  expect((await tokens("ci")).map(({ scopes }) => scopes)).toEqual([expected]);
});

test("an empty choice does not create a token with all permissions", async () => {
  const refused = await mint({ access: "chosen" });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain("Choose at least one permission");
  expect(page).toMatch(/value="chosen" checked/);
  expect(page).toContain('value="ci"');
  expect(await tokens("ci")).toEqual([]);
  expect(typedScopes(new URLSearchParams("access=chosen"))).toEqual([]);
});

test("a permission that the role does not have is refused beside the choices, which are kept", async () => {
  const refused = await mint({ role: "viewer", access: "chosen", scope: ["server:create"] });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="scopes-problem"');
  expect(page).toMatch(/value="server:create" checked/);
});

test("the page that creates a token has its call and the way back, and is closed to roles that may not", async () => {
  const page = await ada.page("/tokens/new");
  expect(page).toMatch(/<nav class="crumbs"[\s\S]*?<a href="\/tokens">API tokens<\/a>/);
  expect(callsIn(page)).toMatchObject([{ operation: "createToken" }]);
  for (const call of callsIn(page)) expect(wrongInCall(call)).toBeNull();
  const mia = await world.signedIn("mia");
  expect((await mia.get("/tokens/new")).status).toBe(403);
});

test("the choices are the permissions of the role, by the shared rule", () => {
  const groups = scopeGroups("viewer");
  expect([...groups.keys()]).not.toContain("token");
  expect(groups.get("server")).toEqual(["server:read"]);
});

test("a token is rotated with an overlap, and revoked; one that has ended offers neither", async () => {
  const make = async (name: string) =>
    (await done(world.real.acme.post("/tokens", { name, role: "member" }))).token;
  const token = await make("deploy");
  const old = await make("old");
  await world.real.sql("update token set expires_at = '2026-01-01' where id = $1", [old.id]);
  const now = () => done(world.real.acme.get(`/tokens/${token.id}`));
  const page = await ada.page("/tokens");
  expect(page).toContain("expired");
  expect(page).not.toContain(`/tokens/${old.id}/rotate`);
  for (const call of callsIn(page)) expect(wrongInCall(call)).toBeNull();
  const rotated = await ada.submit("/tokens", `/tokens/${token.id}/rotate`, { overlap: "hour" });
  expect(rotated.headers.get("location")).toBe("/tokens?notice=rotated");
  expect(Date.parse((await now()).expires_at) - Date.now()).toBeLessThanOrEqual(3_600_000);
  expect(await ada.page("/tokens?notice=rotated")).toContain("shown-once");
  const revoked = await ada.submit("/tokens", `/tokens/${token.id}/revoke`, {});
  expect(revoked.headers.get("location")).toBe("/tokens?notice=revoked");
  expect((await now()).revoked_at).not.toBeNull();
  const late = await ada.submit("/tokens", `/tokens/${token.id}/rotate`, { overlap: "none" });
  expect(late.status).toBe(409);
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await turkish.page("/tokens")).toContain("iptal edildi");
});
