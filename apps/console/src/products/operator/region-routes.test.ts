import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeAgentKeys } from "../../testing/fake-regions.ts";
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

const typed = {
  slug: "ank1",
  name: "Ankara 1",
  country: "tr",
  mode: "agent",
  vmid_first: "40000",
  vmid_last: "49999",
  vlan_first: "100",
  vlan_last: "199",
};
const region = (slug: string) => world.api.state.regions.find((each) => each.slug === slug);

test("a region is registered, and its page shows the next step", async () => {
  expect(await grace.page("/operator/regions")).toContain('href="/operator/regions/new"');
  const answer = await grace.submit("/operator/regions/new", "/operator/regions/new", typed);
  expect(answer.headers.get("location")).toBe("/operator/regions/ank1?notice=created");
  expect(region("ank1")).toMatchObject({
    country: "TR",
    mode: "agent",
    vmid_range: { first: 40_000, last: 49_999 },
  });
  const page = await grace.page("/operator/regions/ank1?notice=created");
  for (const text of ["The region is registered.", "Mint a token below", "No token yet."])
    expect(page).toContain(text);
});

test("a region is restricted to some organisations at creation", async () => {
  const id = world.api.state.organisations[0]?.id ?? "";
  const restricted = { ...typed, restricted_to: [id] };
  const refused = await grace.submit("/operator/regions/new", "/operator/regions/new", {
    ...restricted,
    vmid_first: "many",
  });
  expect(await refused.text()).toMatch(/id="more-region" open[\s\S]*name="restricted_to"[^>]*checked/);
  await grace.submit("/operator/regions/new", "/operator/regions/new", restricted);
  expect(region("ank1")?.restricted_to).toEqual([id]);
});

test("errors of a region's form are shown beside their fields, and the input is kept", async () => {
  const wrong = { ...typed, slug: "ist1", vmid_first: "many" };
  const answer = await grace.submit("/operator/regions/new", "/operator/regions/new", wrong);
  expect(answer.status).toBe(422);
  const page = await answer.text();
  expect(page).toContain('id="vmid_range-problem"');
  expect(page).toContain('value="many"');
  const taken = await grace.submit("/operator/regions/new", "/operator/regions/new", {
    ...typed,
    slug: "ist1",
  });
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="slug-problem"');
});

test("a region is renamed, extended and restricted to some organisations, and opened again", async () => {
  const [organisation] = world.api.state.organisations;
  const save = (more: Record<string, string | readonly string[]>) =>
    grace.submit("/operator/regions/ist1", "/operator/regions/ist1/settings", { ...typed, ...more });
  await save({ restricted_to: [organisation?.id ?? ""] });
  expect(region("ist1")).toMatchObject({ name: "Ankara 1", restricted_to: [organisation?.id] });
  expect(await grace.page("/operator/regions/ist1")).toMatch(/name="restricted_to"[^>]*checked/);
  const refused = await save({ vlan_last: "5000", restricted_to: [organisation?.id ?? ""] });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="vlan_range-problem"');
  expect(page).toMatch(/name="restricted_to"[^>]*checked/);
  await save({ country: "" });
  expect(region("ist1")).toMatchObject({ country: null, restricted_to: null });
});

test("an agent's token is shown once, replaced with an overlap, and revoked", async () => {
  const path = "/operator/regions/ist1";
  const minted = await grace.submit(path, `${path}/tokens`, { token_name: "agent-1" });
  expect(minted.headers.get("location")).toBe(`${path}?notice=minted`);
  expect(await grace.page(`${path}?notice=minted`)).toContain("Boğaz-7c1e");
  expect(await grace.page(`${path}?notice=minted`)).not.toContain("Boğaz-7c1e");

  const [first] = world.api.state.agentTokens;
  await grace.submit(path, `${path}/tokens/${first?.id}/rotate`, { overlap_seconds: "3600" });
  expect(world.api.sent.at(-1)?.body).toEqual({ overlap_seconds: 3600 });
  expect(world.api.state.agentTokens).toHaveLength(2);
  const page = await grace.page(`${path}?notice=rotated`);
  expect(page).toContain("Boğaz-7c1e");
  expect(page).toContain("stays valid as long as you chose");
  expect(page).toContain(">ends ");

  const second = world.api.state.agentTokens[1];
  await grace.submit(path, `${path}/tokens/${second?.id}/revoke`, {});
  expect(second?.revoked_at).not.toBeNull();
  expect(await grace.page(path)).toContain("revoked");
});

test("an agent's token shows a warning for its last two weeks, and none with three months left", async () => {
  const path = "/operator/regions/ist1";
  await grace.submit(path, `${path}/tokens`, { token_name: "agent-1" });
  const [token] = world.api.state.agentTokens;
  const toneWith = async (days: number) => {
    const expires_at = new Date(Date.now() + days * 86_400_000).toISOString();
    Object.assign(token ?? {}, { expires_at });
    const row = (await grace.page(path)).split(`id="${token?.id}"`)[1]?.split("</tr>")[0] ?? "";
    return /data-tone="(\w+)"/.exec(row)?.[1];
  };
  expect(await toneWith(89)).toBe("good");
  expect(await toneWith(13)).toBe("warning");
});

test("a repeat of a token's form does not show its secret again", async () => {
  const path = "/operator/regions/ist1";
  const form = { token_name: "agent-1", idempotency_key: crypto.randomUUID() };
  await grace.submit(path, `${path}/tokens`, form);
  await grace.page(path);
  const again = await grace.submit(path, `${path}/tokens`, form);
  expect(again.headers.get("location")).toBe(`${path}?notice=withheld`);
  expect(await grace.page(`${path}?notice=withheld`)).toContain("cannot be shown again");
  expect(world.api.state.agentTokens).toHaveLength(1);
});

test("an invalid name is refused beside its field", async () => {
  const path = "/operator/regions/ist1";
  const answer = await grace.submit(path, `${path}/tokens`, { token_name: "" });
  expect(answer.status).toBe(422);
  expect(await answer.text()).toContain('id="token_name-problem"');
});

test("other users cannot open these pages", async () => {
  const ada = await new Visitor(world).signIn();
  for (const path of ["/operator/regions/ist1", "/operator/invariants"])
    expect((await ada.get(path)).status, path).toBe(403);
});

test("a new key of an agent is shown beside the one in use, and approved or refused", async () => {
  const ist1 = region("ist1");
  expect(await grace.page("/operator/regions/ist1")).toContain("No agent has reported its key yet");
  Object.assign(ist1 ?? {}, { agent_key: fakeAgentKeys() });
  const page = await grace.page("/operator/regions/ist1");
  for (const text of [`SHA256:${"a".repeat(43)}`, `SHA256:${"b".repeat(43)}`, "another key waits", "ist1-b"])
    expect(page).toContain(text);

  const refused = await grace.submit("/operator/regions/ist1", "/operator/regions/ist1/agent-key/refuse", {});
  expect(refused.headers.get("location")).toBe("/operator/regions/ist1?notice=keyRefused");
  expect(ist1?.agent_key?.pending).toBeNull();

  Object.assign(ist1 ?? {}, { agent_key: fakeAgentKeys() });
  const path = "/operator/regions/ist1/agent-key/approve";
  const old = await grace.submit("/operator/regions/ist1", path, { fingerprint: `SHA256:${"c".repeat(43)}` });
  expect(old.status).toBe(409);
  const approved = await grace.submit("/operator/regions/ist1", path, {
    fingerprint: `SHA256:${"b".repeat(43)}`,
  });
  expect(approved.headers.get("location")).toBe("/operator/regions/ist1?notice=keyApproved");
  expect(ist1?.agent_key).toMatchObject({ fingerprint: `SHA256:${"b".repeat(43)}`, pending: null });
});
