import { newId } from "@kule/api/platform/ids";
import type { Schemas } from "@kule/contract/schemas";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import type { Visitor } from "../../testing/visitor.ts";
import { monthOf } from "../usage/month.ts";

type Entry = Schemas["AuditEntry"];

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
let server: string;
beforeEach(async () => {
  world = await startPanelWorld(servers, { trustedProxies: 1 });
  ada = await world.signedIn("ada", { "x-forwarded-for": "192.0.2.7" });
  server = world.facts.servers["web-1"];
});
afterEach(() => world.stop());

/** A deletion that is refused; a token with markup in its name that was created last month and revoked now. */
async function act(): Promise<void> {
  const { acme } = world.real;
  await done(acme.patch(`/servers/${server}`, { protection: { delete: true } }));
  await ada.submit(`/servers/${server}`, `/servers/${server}/delete`, { confirm_name: "web-1" });
  const { token } = await done(acme.post("/tokens", { name: "<b>typed</b>", role: "member" }));
  await world.real.sql("update audit set at = '2026-10-01T08:00:00Z' where action = 'token.create'");
  await done(acme.delete(`/tokens/${token.id}`));
}

const rows = (page: string) => [...page.matchAll(/<tr id="aud_/g)].length;
const trail = (): Promise<Entry[]> => world.real.list("/audit?limit=200");

test("the organisation's trail shows actor, action, target and result, and renders texts as texts", async () => {
  await act();
  const page = await ada.page("/audit");
  expect(rows(page)).toBe((await trail()).length);
  for (const words of ["server.delete", "refused", "protected", "Ada Lovelace", `href="/servers/${server}"`])
    expect(page).toContain(words);
  expect(page).toContain("&lt;b&gt;typed&lt;/b&gt;");
  expect(page).not.toContain("<b>typed</b>");
  expect(page).not.toContain('title="Only region.create"');
});

test("it shows the origin of each entry without opening its details", async () => {
  await act();
  expect(await ada.page("/audit?outcome=refused")).toContain(
    '<td class="mono breakable" data-label="From where">192.0.2.7</td>',
  );
});

test.each<[string, (entry: Entry) => boolean]>([
  ["outcome=refused", ({ outcome }) => outcome === "refused"],
  ["action=token.create", ({ action }) => action === "token.create"],
  ["actor_id={ada}", ({ actor }) => actor.name === "Ada Lovelace"],
  ["resource={server}", ({ resource }) => resource === server],
  ["from=2026-10-02T00:00", ({ action }) => action !== "token.create"],
  ["to=2026-10-02T00:00", ({ action }) => action === "token.create"],
  ["outcome=refused&actor_id=tok_ci", () => false],
])("it is cut down by %s", async (query, isMeant) => {
  await act();
  const meant = (await trail()).filter(isMeant);
  const page = await ada.page(
    `/audit?${query.replace("{ada}", world.facts.people.ada.id).replace("{server}", server)}`,
  );
  expect(rows(page)).toBe(meant.length);
  for (const { id } of meant) expect(page).toContain(`<tr id="${id}"`);
  expect(page).toContain(query.includes("tok_ci") ? "Nothing matches" : "listAudit");
  expect(meant.length > 0).toBe(!query.includes("tok_ci"));
});

test("an invalid time is refused at its field, and nothing is sent", async () => {
  const before = world.api.calls.length;
  const answer = await ada.get("/audit?from=yesterday");
  expect(answer.status).toBe(422);
  expect(await answer.text()).toContain('id="from-problem"');
  expect(world.api.calls.slice(before).some((call) => call.startsWith("GET /audit"))).toBe(false);
});

test("a long trail has pages that keep the filters", async () => {
  await world.real.sql(
    `insert into audit (id, organisation_id, actor_type, action, outcome, http_status, request_id)
     select id, $2, 'system', 'server.power', 'succeeded', 200, id from unnest($1::text[]) id`,
    [Array.from({ length: 60 }, () => newId("aud")), world.facts.acme.id],
  );
  const page = await ada.page("/audit?action=server.power");
  expect(rows(page)).toBe(50);
  const [, next = ""] = /href="(\/audit\?action=server\.power&amp;cursor=[^"]+)"/.exec(page) ?? [];
  expect(rows(await ada.page(next.replaceAll("&amp;", "&")))).toBe(10);
});

test("a resource links to its own trail, for roles that may read it", async () => {
  const page = `/networks/${world.facts.networkId}`;
  expect(await ada.page(page)).toContain(`href="${page}/audit"`);
  const mia = await world.signedIn("mia");
  expect(await mia.page(page)).not.toContain("/audit");
  expect(await mia.page("/members")).not.toContain('href="/audit"');
});

test("operators see the whole trail with its organisations, without choosing one", async () => {
  const grace = await world.signedIn("grace");
  const all = await done(world.real.operator.get("/audit?limit=50"));
  const page = await grace.page("/operator/audit");
  expect(rows(page)).toBe(all.items.length);
  expect(page).toContain(`href="/organisations/${world.facts.acme.id}"`);
  const created = await grace.page("/operator/audit?action=region.create");
  expect(rows(created)).toBe(2);
  expect(created).toContain("region.create");
});

test("quotas show what is full, what is nearly full, and how to change it", async () => {
  // Two servers with two processors each.
  const limits = { servers: 2, vcpu: 5 };
  await done(world.real.operator.put(`/organisations/${world.facts.acme.id}/quotas`, { limits }));
  const page = await ada.page("/quotas");
  expect(page).toContain("Full: Servers.");
  expect(page).toMatch(/id="quota-vcpu"[\s\S]*?nearly full[\s\S]*?href="\/servers"/);
  const disk = page.slice(page.indexOf('id="quota-disk_gb"'), page.indexOf('id="quota-networks"'));
  expect(disk).not.toMatch(/full|See what there is/);
  expect(page).toContain("Ask the operator");
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await turkish.page("/quotas")).toContain("Dolu: Sunucular.");
});

test("usage is shown by day and by product", async () => {
  const { previous } = monthOf(undefined, new Date());
  await world.real.sql(
    "update usage_segment set started_at = $2, ended_at = $3, closed_by = opened_by where resource_id = $1",
    [server, `${previous}-10T00:00:00Z`, `${previous}-11T12:00:00Z`],
  );
  const page = await ada.page(`/usage?month=${previous}`);
  expect(page.match(/class="day-bars"/g)).toHaveLength(4);
  expect(page).toContain("Servers, package M");
  expect(page).toMatch(/Disks<\/span>[\s\S]*?36 h/);
});
