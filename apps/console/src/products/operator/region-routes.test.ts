import { randomBytes } from "node:crypto";
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

const typed = {
  slug: "izm1",
  name: "Izmir 1",
  country: "tr",
  mode: "agent",
  vmid_first: "40000",
  vmid_last: "49999",
  vlan_first: "100",
  vlan_last: "199",
};
const region = (slug: string) => done(world.real.operator.get(`/regions/${slug}`));
/** The tokens of that name of agents of region ist1, the newest first. */
const tokens = async (name: string) =>
  (await done(world.real.operator.get("/regions/ist1/agent-tokens"))).items.filter(
    (token: { name: string }) => token.name === name,
  );

test("a region is registered, and its page shows the next step", async () => {
  expect(await grace.page("/operator/regions")).toContain('href="/operator/regions/new"');
  const answer = await grace.submit("/operator/regions/new", "/operator/regions/new", typed);
  expect(answer.headers.get("location")).toBe("/operator/regions/izm1?notice=created");
  expect(await region("izm1")).toMatchObject({
    country: "TR",
    mode: "agent",
    vmid_range: { first: 40_000, last: 49_999 },
  });
  const page = await grace.page("/operator/regions/izm1?notice=created");
  for (const text of ["The region is registered.", "Create a code to enrol an agent below", "No token yet."])
    expect(page).toContain(text);
});

test("a region is restricted to some organisations at creation", async () => {
  const { id } = world.facts.acme;
  const restricted = { ...typed, restricted_to: [id] };
  const refused = await grace.submit("/operator/regions/new", "/operator/regions/new", {
    ...restricted,
    vmid_first: "many",
  });
  expect(await refused.text()).toMatch(/id="more-region" open[\s\S]*name="restricted_to"[^>]*checked/);
  await grace.submit("/operator/regions/new", "/operator/regions/new", restricted);
  expect((await region("izm1")).restricted_to).toEqual([id]);
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
  const { id } = world.facts.acme;
  const extended = { ...typed, vmid_first: "20000", vmid_last: "20199" };
  const save = (more: Record<string, string | readonly string[]>) =>
    grace.submit("/operator/regions/ist1", "/operator/regions/ist1/settings", { ...extended, ...more });
  await save({ restricted_to: [id] });
  expect(await region("ist1")).toMatchObject({
    name: "Izmir 1",
    country: "TR",
    restricted_to: [id],
    vmid_range: { first: 20_000, last: 20_199 },
    vlan_range: { first: 100, last: 199 },
  });
  expect(await grace.page("/operator/regions/ist1")).toMatch(/name="restricted_to"[^>]*checked/);
  const refused = await save({ vlan_last: "5000", restricted_to: [id] });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="vlan_range-problem"');
  expect(page).toMatch(/name="restricted_to"[^>]*checked/);
  await save({ country: "" });
  expect(await region("ist1")).toMatchObject({ country: null, restricted_to: null });
});

test("an agent is enrolled by the line that the region's page shows once", async () => {
  const path = "/operator/regions/ist1";
  const created = await grace.submit(path, `${path}/enrolments`, {});
  expect(created.headers.get("location")).toBe(`${path}?notice=enrolment`);
  const page = await grace.page(`${path}?notice=enrolment`);
  const [, url = "", code = ""] =
    /<code id="enrol-command"[^>]*>\s*kule-agent enrol (\S+) (kule_enr_\w+)/.exec(page) ?? [];
  expect(url).toMatch(/\/api\/v1$/);
  expect(await grace.page(`${path}?notice=enrolment`)).not.toContain(code);
  expect(world.logged()).not.toContain(code);
  const enrolled = await world.real.operator.post("/agent/enrolment", { secret: code, name: "agent-7" });
  expect(enrolled).toMatchObject({ status: 201, body: { region: "ist1" } });
  expect(await tokens("agent-7")).toHaveLength(1);
});

test("an agent's token is shown once, replaced with an overlap, and revoked", async () => {
  const path = "/operator/regions/ist1";
  const shownOnce = async (notice: string) => {
    const page = await grace.page(`${path}?notice=${notice}`);
    const [, secret = ""] = /<code id="agent-token"[^>]*>\s*(kule_agent_\w+)/.exec(page) ?? [];
    expect(secret).not.toBe("");
    expect(await grace.page(`${path}?notice=${notice}`)).not.toContain(secret);
    expect(world.logged()).not.toContain(secret);
    return { page, secret };
  };
  const minted = await grace.submit(path, `${path}/tokens`, { token_name: "agent-1" });
  expect(minted.headers.get("location")).toBe(`${path}?notice=minted`);
  const { secret } = await shownOnce("minted");

  const [first] = await tokens("agent-1");
  await grace.submit(path, `${path}/tokens/${first.id}/rotate`, { overlap_seconds: "3600" });
  expect(world.api.sent.at(-1)?.body).toEqual({ overlap_seconds: 3600 });
  expect(await tokens("agent-1")).toHaveLength(2);
  const rotated = await shownOnce("rotated");
  expect(rotated.secret).not.toBe(secret);
  expect(rotated.page).toContain("stays valid as long as you chose");
  expect(rotated.page).toContain(">ends ");

  const [second] = await tokens("agent-1");
  await grace.submit(path, `${path}/tokens/${second.id}/revoke`, {});
  expect((await tokens("agent-1"))[0].revoked_at).not.toBeNull();
  expect(await grace.page(path)).toContain("revoked");
});

test("an agent's token shows a warning for its last two weeks, and none with three months left", async () => {
  const path = "/operator/regions/ist1";
  await grace.submit(path, `${path}/tokens`, { token_name: "agent-1" });
  const [token] = await tokens("agent-1");
  const toneWith = async (days: number) => {
    await world.real.sql(
      "update token set expires_at = clock_timestamp() + make_interval(days => $2) where id = $1",
      [token.id, days],
    );
    const row = (await grace.page(path)).split(`id="${token.id}"`)[1]?.split("</tr>")[0] ?? "";
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
  expect(await tokens("agent-1")).toHaveLength(1);
});

test("an invalid name is refused beside its field", async () => {
  const path = "/operator/regions/ist1";
  const answer = await grace.submit(path, `${path}/tokens`, { token_name: "" });
  expect(answer.status).toBe(422);
  expect(await answer.text()).toContain('id="token_name-problem"');
});

test("other users cannot open these pages", async () => {
  const ada = await world.signedIn("ada");
  for (const path of ["/operator/regions/ist1", "/operator/invariants"])
    expect((await ada.get(path)).status, path).toBe(403);
});

test("a new key of an agent is shown beside the one in use, and approved or refused", async () => {
  const path = "/operator/regions/ist1";
  expect(await grace.page("/operator/regions/ank1")).toContain("No agent has reported its key yet");
  /** The second agent of the region reports; the fingerprint of its key. */
  const report = async () => {
    await done(
      world.real.agent.api.post("/agent/health", {
        agent_version: "0.1.0",
        agent_name: "ist1-b",
        hypervisor: { kind: "proxmox", reachable: true },
        public_key: randomBytes(32).toString("base64"),
      }),
    );
    return (await region("ist1")).agent_key.pending.fingerprint;
  };
  const { fingerprint: inUse } = (await region("ist1")).agent_key;
  const waiting = await report();
  expect(world.real.takeAlarms()).toEqual([expect.stringContaining("an agent reports a new key")]);
  const page = await grace.page(path);
  for (const text of [inUse, waiting, "another key waits", "ist1-b"]) expect(page).toContain(text);

  const refused = await grace.submit(path, `${path}/agent-key/refuse`, {});
  expect(refused.headers.get("location")).toBe(`${path}?notice=keyRefused`);
  expect((await region("ist1")).agent_key).toMatchObject({ fingerprint: inUse, pending: null });

  const other = await report();
  expect(world.real.takeAlarms()).toHaveLength(1);
  const approve = (fingerprint: string) => grace.submit(path, `${path}/agent-key/approve`, { fingerprint });
  expect((await approve(waiting)).status).toBe(409);
  const approved = await approve(other);
  expect(approved.headers.get("location")).toBe(`${path}?notice=keyApproved`);
  expect((await region("ist1")).agent_key).toMatchObject({ fingerprint: other, pending: null });
});
