import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { seedEverything } from "../../testing/seed-everything.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedEverything(world.api.state);
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const serversWith = (role: string) =>
  world.api.state.servers.filter(({ labels }) => labels.role === role).length;
const allEvents = () => world.api.state.servers.length * 2 + world.api.state.publicIps.length;
const rows = (html: string) => html.match(/<tr id="(use|seg)_/g)?.length ?? 0;

test("events link to the resource and to the job that caused them, and name the cause where no job did", async () => {
  const html = await ada.page("/usage/events");
  const { servers, publicIps, jobs } = world.api.state;
  expect(rows(html)).toBe(allEvents());
  expect(html).toContain(`<a href="/servers/${servers[0]?.id}">${servers[0]?.name}</a>`);
  expect(html).toContain(`<a href="/public-ips/${publicIps[0]?.id}">${publicIps[0]?.address}</a>`);
  expect(html).toContain(`<a href="/jobs/${jobs[0]?.id}">Job</a>`);
  expect(html).toContain(">seen in the region<");
  expect(html).toContain(">a request<");
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  expect(await turkish.page("/usage/events")).toContain("Sunucu başladı");
});

test.each([
  ["/usage/events", "kind=public_ip.allocated", () => world.api.state.publicIps.length],
  ["/usage/segments", "kind=disk", () => world.api.state.servers.length],
  ["/usage/events", "region=nowhere", () => 0],
  ["/usage/segments", "region=nowhere", () => 0],
  ["/usage/events", "label_selector=role%3Ddata", () => 2 * serversWith("data")],
  ["/usage/segments", "label_selector=role%3Ddata", () => 2 * serversWith("data")],
  ["/usage/events", "kind=shoe-size", () => allEvents()],
])("%s?%s shows what it is narrowed to", async (page, query, count) => {
  expect(rows(await ada.page(`${page}?${query}`))).toBe(count());
});

test.each(["/usage/events", "/usage/segments"])(
  "%s keeps its filters in another month and in its files",
  async (page) => {
    const [server] = world.api.state.servers;
    const html = await ada.page(`${page}?month=2026-02&resource=${server?.id}&region=ist1`);
    expect(html).toContain(
      `href="${page}?month=2026-01&amp;resource=${server?.id}&amp;region=ist1" rel="prev"`,
    );
    expect(html).toContain('value="ist1" selected');
    const [, file = ""] = /href="(\/usage\/export\.csv\?[^"]*)"/.exec(html) ?? [];
    expect((await ada.get(file.replaceAll("&amp;", "&"))).status).toBe(200);
    const asked = new URLSearchParams(world.api.calls.at(-1)?.split("?")[1]);
    expect(Object.fromEntries(asked)).toEqual({
      of: page === "/usage/events" ? "events" : "segments",
      from: "2026-02-01T00:00:00.000Z",
      to: "2026-03-01T00:00:00.000Z",
      resource: server?.id,
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
  const [server] = world.api.state.servers;
  if (server === undefined) throw new Error("no server");
  for (let index = 0; index < 10; index++)
    world.api.state.servers.push({
      ...server,
      id: `${server.id.slice(0, -4)}${1000 + index}`,
      name: `more-${index}`,
    });
  await ada.submit("/usage/events", "/preferences", { list: "events", rows: "20", columns: "at" });
  const html = await ada.page("/usage/events?region=ist1");
  expect(rows(html)).toBe(20);
  const [, next = ""] = /href="([^"]*)" rel="next">Next page/.exec(html) ?? [];
  expect(next).toContain("region=ist1");
  expect(rows(await ada.page(next.replaceAll("&amp;", "&")))).toBe(allEvents() - 20);
});
