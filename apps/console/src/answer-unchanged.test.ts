import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { AnswersSeen } from "./answers-seen.ts";
import { type PanelWorld, startPanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import type { Visitor } from "./testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeAll(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterAll(() => world?.stop());
// The clock stands: at the turn of a minute a page is sent again.
beforeEach(() => vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => vi.useRealTimers());

/** As a list polls, with the tag of the answer that it shows. */
async function poll(path: string, known = '"none"', visitor = ada) {
  const response = await visitor.get(path, {
    "hx-request": "true",
    "if-none-match": known,
    "accept-encoding": "gzip",
  });
  const { status, headers } = response;
  const body = Buffer.from(await response.arrayBuffer());
  const text = headers.get("content-encoding") === "gzip" ? gunzipSync(body) : body;
  return { status, text: text.toString(), tag: headers.get("etag") ?? "" };
}

test("a poll is answered 304 without a body as long as the API answers the same", async () => {
  const { shop = "" } = world.facts.networks;
  for (const path of ["/servers", "/servers?status=running", "/jobs", "/networks", `/networks/${shop}`]) {
    const first = await poll(path);
    expect([path, first.status]).toEqual([path, 200]);
    expect(first.text).toContain("</html>");
    expect(await poll(path, first.tag)).toEqual({ status: 304, text: "", tag: first.tag });
  }
});

test("a change in what the page shows is sent, and its tag is another", async () => {
  const first = await poll("/servers");
  const { "app-2": id = "" } = world.facts.servers;
  await done(world.real.acme.patch(`/servers/${id}`, { labels: { role: "changed" } }));
  const second = await poll("/servers", first.tag);
  expect(second.status).toBe(200);
  expect(second.text).toContain("changed");
  expect(second.tag).not.toBe(first.tag);
  expect((await poll("/servers", second.tag)).status).toBe(304);
});

test("another address, language or minute, and another person, have other tags", async () => {
  const { tag } = await poll("/servers");
  expect((await poll("/servers?sort=name", tag)).status).toBe(200);
  const turkish = ada.twin();
  await turkish.submit("/servers", "/preferences", { language: "tr", return_to: "/servers" });
  expect((await poll("/servers", tag, turkish)).text).toContain('lang="tr"');
  expect((await poll("/servers", tag, await world.signedIn("ada"))).status).toBe(200);
  vi.setSystemTime(Date.now() + 60_000);
  expect((await poll("/servers", tag)).status).toBe(200);
});

test("a page that a person opens is always sent, and has no tag", async () => {
  const { tag } = await poll("/servers");
  for (const headers of [{}, { "hx-request": "true" }, { "if-none-match": tag }]) {
    const response = await ada.get("/servers", headers as Record<string, string>);
    expect([response.status, response.headers.get("etag")]).toEqual([200, null]);
  }
});

test("a poll that the API does not answer says so, whatever the browser has", async () => {
  const { tag } = await poll("/servers");
  world.api.away = true;
  expect((await poll("/servers", tag)).status).toBe(503);
  world.api.away = false;
  expect((await poll("/servers", tag)).status).toBe(304);
});

test("the order of the answers does not count, and everything else does", async () => {
  const facts = ["/servers", "en"];
  const tagOf = async (urls: string[], of = facts) => {
    const seen = new AnswersSeen();
    for (const url of urls) await seen.send(new Request(url));
    return seen.tag(of);
  };
  const [one, other] = ["data:text/plain,one", "data:text/plain,other"];
  const tag = await tagOf([one, other]);
  expect(await tagOf([other, one])).toBe(tag);
  expect(await tagOf([one])).not.toBe(tag);
  expect(await tagOf([one, other, other])).not.toBe(tag);
  expect(await tagOf([one, other], ["/servers", "tr"])).not.toBe(tag);
});
