import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const rows = (html: string) => html.match(/<tr id="(use|seg)_/g)?.length ?? 0;
/** A disk for each of seven servers, of which six have started, and a public address. */
const allEvents = 14;

test("events link to the resource and to the job that caused them, and name the cause where no job did", async () => {
  const { servers, publicIps } = world.facts;
  const started = servers["app-1"];
  // As when a scan of the region has found it on.
  await world.real.sql(
    `update usage_event set source = 'reconcile', job_id = null where resource_id = $1 and kind = 'server.started'`,
    [started],
  );
  const html = await ada.page("/usage/events");
  expect(rows(html)).toBe(allEvents);
  expect(html).toContain(`<a href="/servers/${started}">app-1</a>`);
  expect(html).toContain(`<a href="/public-ips/${publicIps["203.0.113.10"]}">203.0.113.10</a>`);
  const events = await world.real.list("/usage");
  const { job_id: job } = events.find(({ kind }) => kind === "disk.allocated");
  expect(html).toContain(`<a href="/jobs/${job}">Job</a>`);
  expect(html).toContain(">seen in the region<");
  expect(html).toContain(">a request<");
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await turkish.page("/usage/events")).toContain("Sunucu başladı");
});

test.each([
  ["/usage/events", "kind=public_ip.allocated", 1],
  ["/usage/segments", "kind=disk", 7],
  ["/usage/events", "region=nowhere", 0],
  ["/usage/segments", "region=nowhere", 0],
  ["/usage/events", "label_selector=role%3Ddata", 4],
  ["/usage/segments", "label_selector=role%3Ddata", 4],
  ["/usage/events", "kind=shoe-size", allEvents],
])("%s?%s shows what it is narrowed to", async (page, query, count) => {
  expect(rows(await ada.page(`${page}?${query}`))).toBe(count);
});

test.each(["/usage/events", "/usage/segments"])(
  "%s keeps its filters in another month and in its files",
  async (page) => {
    const server = world.facts.servers["app-1"];
    const html = await ada.page(`${page}?month=2026-02&resource=${server}&region=ist1`);
    expect(html).toContain(`href="${page}?month=2026-01&amp;resource=${server}&amp;region=ist1" rel="prev"`);
    expect(html).toContain('value="ist1" selected');
    const [, file = ""] = /href="(\/usage\/export\.csv\?[^"]*)"/.exec(html) ?? [];
    expect((await ada.get(file.replaceAll("&amp;", "&"))).status).toBe(200);
    const asked = new URLSearchParams(world.api.calls.at(-1)?.split("?")[1]);
    expect(Object.fromEntries(asked)).toEqual({
      of: page === "/usage/events" ? "events" : "segments",
      from: "2026-02-01T00:00:00.000Z",
      to: "2026-03-01T00:00:00.000Z",
      resource: server,
      region: "ist1",
    });
  },
);

test.each(["/usage/events", "/usage/segments"])(
  "%s explains an invalid label filter beside it",
  async (page) => {
    const answer = await ada.get(`${page}?label_selector=a+b`);
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain('id="label_selector-problem"');
  },
);

test("events are listed in pages of this browser's size", async () => {
  const { acme, agent } = world.real;
  const body = { region: "ist1", image: "debian-13", package: "s", subnet_id: world.facts.subnets.app };
  for (let number = 0; number < 4; number++)
    await done(acme.post("/servers", { ...body, name: `more-${number}` }));
  await agent.work();
  await ada.submit("/usage/events", "/preferences", { list: "events", rows: "20", columns: "at" });
  const html = await ada.page("/usage/events?region=ist1");
  expect(rows(html)).toBe(20);
  const [, next = ""] = /href="([^"]*)" rel="next">Next page/.exec(html) ?? [];
  expect(next).toContain("region=ist1");
  expect(rows(await ada.page(next.replaceAll("&amp;", "&")))).toBe(allEvents + 8 - 20);
});
