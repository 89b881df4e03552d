import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeEntry } from "../../testing/fake-audit.ts";
import { fakeNetwork, fakeServer } from "../../testing/fake-records.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
let acme: string;
beforeEach(async () => {
  world = await startConsoleWorld();
  ada = await new Visitor(world).signIn();
  acme = world.api.state.organisations[0]?.id ?? "";
  world.api.state.audit.push(
    fakeEntry({
      action: "server.delete",
      organisation_id: acme,
      resource: "srv_1",
      outcome: "refused",
      code: "protected",
      http_status: 409,
      details: { note: "<b>typed</b>" },
    }),
    fakeEntry({
      action: "token.create",
      organisation_id: acme,
      actor: { type: "token", id: "tok_ci", name: "ci" },
      at: "2026-10-01T08:00:00.000Z",
    }),
    fakeEntry({ action: "region.create", actor: { type: "operator", id: "tok_ops", name: "on call" } }),
  );
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const rows = (page: string) => [...page.matchAll(/<tr id="aud_/g)].length;

test("the organisation's trail shows actor, action, target and result, and renders texts as texts", async () => {
  const page = await ada.page("/audit");
  expect(rows(page)).toBe(2);
  for (const words of ["server.delete", "refused", "protected", "192.0.2.7", 'href="/servers/srv_1"'])
    expect(page).toContain(words);
  expect(page).not.toContain("<b>typed</b>");
  expect(page).not.toContain('title="Only region.create"');
});

test("it shows the origin of each entry without opening its details", async () => {
  expect(await ada.page("/audit")).toContain(
    '<td class="mono breakable" data-label="From where">192.0.2.7</td>',
  );
});

test.each([
  ["outcome=refused", 1],
  ["action=token.create", 1],
  ["actor_id=tok_ci", 1],
  ["resource=srv_1", 1],
  ["from=2026-10-02T00:00", 1],
  ["to=2026-10-02T00:00", 1],
  ["outcome=refused&actor_id=tok_ci", 0],
])("it is cut down by %s", async (query, count) => {
  const page = await ada.page(`/audit?${query}`);
  expect(rows(page)).toBe(count);
  expect(page).toContain(count === 0 ? "Nothing matches" : "listAudit");
});

test("an invalid time is refused at its field, and nothing is sent", async () => {
  const before = world.api.calls.length;
  const answer = await ada.get("/audit?from=yesterday");
  expect(answer.status).toBe(422);
  expect(await answer.text()).toContain('id="from-problem"');
  expect(world.api.calls.slice(before).some((call) => call.startsWith("GET /audit"))).toBe(false);
});

test("a long trail has pages that keep the filters", async () => {
  for (let entry = 0; entry < 60; entry += 1)
    world.api.state.audit.push(fakeEntry({ action: "server.power", organisation_id: acme }));
  const page = await ada.page("/audit?action=server.power");
  expect(rows(page)).toBe(50);
  expect(page).toContain('href="/audit?action=server.power&amp;cursor=50"');
  expect(rows(await ada.page("/audit?action=server.power&cursor=50"))).toBe(10);
});

test("a resource links to its own trail, for roles that may read it", async () => {
  const network = fakeNetwork({ name: "n", region: "ist1" }, true);
  world.api.state.networks.push(network);
  expect(await ada.page(`/networks/${network.id}`)).toContain(`href="/networks/${network.id}/audit"`);
  const mia = await new Visitor(world).signIn("mia@example.org", "making things");
  expect(await mia.page(`/networks/${network.id}`)).not.toContain("/audit?");
  expect(await mia.page("/members")).not.toContain('href="/audit"');
});

test("operators see the whole trail with its organisations, without choosing one", async () => {
  const grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  const page = await grace.page("/operator/audit");
  expect(rows(page)).toBe(3);
  expect(page).toContain("region.create");
  expect(page).toContain(`href="/organisations/${acme}"`);
});

test("quotas show what is full, what is nearly full, and how to change it", async () => {
  const { state } = world.api;
  const network = fakeNetwork({ name: "n", region: "ist1" }, true);
  for (let server = 0; server < 5; server += 1)
    state.servers.push(
      fakeServer(
        { name: `s-${server}`, region: "ist1", image: "ubuntu-24.04", package: "m" },
        network,
        server,
      ),
    );
  state.limits.set("servers", 5);
  state.limits.set("vcpu", 12);
  const page = await ada.page("/quotas");
  expect(page).toContain("Full: Servers.");
  expect(page).toMatch(/id="quota-vcpu"[\s\S]*?nearly full[\s\S]*?href="\/servers"/);
  const disk = page.slice(page.indexOf('id="quota-disk_gb"'), page.indexOf('id="quota-networks"'));
  expect(disk).not.toMatch(/full|See what there is/);
  expect(page).toContain("Ask the operator");
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  expect(await turkish.page("/quotas")).toContain("Dolu: Sunucular.");
});

test("usage is shown by day and by product", async () => {
  const network = fakeNetwork({ name: "n", region: "ist1" }, true);
  world.api.state.servers.push(
    fakeServer({ name: "s", region: "ist1", image: "ubuntu-24.04", package: "m" }, network, 0),
  );
  const page = await ada.page("/usage");
  expect(page.match(/class="day-bars"/g)).toHaveLength(4);
  expect(page).toContain("Servers, package M");
  expect(page).toMatch(/Disks<\/span>[\s\S]*?36 h/);
});
