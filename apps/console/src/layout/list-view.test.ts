import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../testing/panel-world.ts";
import { everything } from "../testing/scenes/everything.ts";
import type { FactsOf } from "../testing/scenes/scene.ts";
import { tokenIn, type Visitor } from "../testing/visitor.ts";

/** Only read: what is chosen is stored in the visitor's browser. */
let world: PanelWorld<FactsOf<typeof everything>>;
let ada: Visitor;
beforeAll(async () => {
  world = await startPanelWorld(everything);
});
beforeEach(async () => {
  ada = await world.signedIn("ada");
});
afterAll(() => world?.stop());

const headsIn = (html: string) =>
  [...html.matchAll(/<th scope="col"[^>]*>(.*?)<\/th>/g)].map(([, head = ""]) =>
    head.replaceAll(/<[^>]*>/g, ""),
  );
const heads = async (path: string) => headsIn(await ada.page(path));

/** Sends the View form as the browser does, with the checked boxes. */
const choose = (list: string, page: string, rows: string, columns: readonly string[], more = {}) =>
  ada.submit(page, "/preferences", { list, rows, columns, return_to: page, ...more });

test("the chosen columns apply to their list and to no other", async () => {
  expect(await heads("/servers")).toEqual([
    "",
    "Name",
    "Status",
    "Private IP",
    "Public IP",
    "Image",
    "Package",
    "Region",
    "Created",
  ]);
  const jobs = await heads("/jobs");
  const answer = await choose("servers", "/servers", "20", ["public_ip", "status"]);
  expect(answer.status).toBe(303);
  expect(answer.headers.get("location")).toBe("/servers");
  expect(await heads("/servers")).toEqual(["", "Name", "Status", "Public IP"]);
  // A list that refreshes by itself requests the same address, and gets the same columns.
  const part = await ada.get("/servers", { "hx-request": "true" });
  expect(headsIn(await part.text())).toEqual(["", "Name", "Status", "Public IP"]);
  expect(await heads("/jobs")).toEqual(jobs);
});

test("the column that names a row cannot be hidden, and one click restores all columns", async () => {
  await choose("servers", "/servers", "50", []);
  expect(await heads("/servers")).toEqual(["", "Name"]);
  await choose("jobs", "/jobs", "20", ["status"]);
  expect(await heads("/servers")).toEqual(["", "Name"]);
  await choose("servers", "/servers", "50", [], { intent: "reset" });
  expect(await heads("/servers")).toHaveLength(9);
  expect(await heads("/jobs")).toEqual(["Job", "Status"]);
});

test.each([
  ["servers", "/servers", "100", "/servers?limit=100"],
  ["networks", "/networks", "50", "/networks?limit=50"],
  ["public_ips", "/public-ips", "50", "/public-ips?limit=50"],
  ["gateways", "/gateways", "100", "/gateways?limit=100"],
  ["firewalls", "/firewalls", "20", "/firewalls?limit=20"],
  ["ssh_keys", "/ssh-keys", "20", "/ssh-keys?limit=20"],
  ["jobs", "/jobs", "200", "/jobs?limit=200"],
  ["tokens", "/tokens", "20", "/tokens?limit=20"],
  ["audit", "/audit", "100", "/audit?limit=100"],
  ["members", "/members", "20", "/members?limit=20"],
])("%s: pages are as long as was chosen", async (list, page, rows, call) => {
  await choose(list, page, rows, []);
  world.api.calls.length = 0;
  const html = await ada.page(page);
  expect(html).toMatch(new RegExp(`value="${rows}" selected`));
  expect(world.api.calls.filter((each) => each.startsWith(`GET ${call}`))).toHaveLength(1);
});

test.each([
  ["organisations", "/organisations", "/organisations?limit=100"],
  ["stuck_jobs", "/operator/stuck-jobs", "/operator/stuck-jobs?limit=100"],
  ["drift", "/operator/drift", "/operator/drift?limit=100"],
  ["ip_pools", "/ip-pools", "/ip-pools?limit=100"],
  ["audit", "/operator/audit", "/audit?limit=100"],
])("%s: the lists of operators, too", async (list, page, call) => {
  const grace = await world.signedIn("grace");
  await grace.submit(page, "/preferences", { list, rows: "100", return_to: page });
  world.api.calls.length = 0;
  await grace.page(page);
  expect(world.api.calls.filter((each) => each.startsWith(`GET ${call}`))).toHaveLength(1);
});

test("the tabs of a server have the page sizes of the lists that they are taken from", async () => {
  const path = `/servers/${world.facts.servers["app-1"]}`;
  for (const [list, tab, call] of [
    ["jobs", "jobs", "GET /jobs?"],
    ["audit", "audit", "GET /audit?"],
    ["segments", "usage", "GET /usage/segments?"],
  ] as const) {
    await choose(list, "/servers", "100", []);
    world.api.calls.length = 0;
    await ada.page(`${path}/${tab}`);
    expect(world.api.calls.find((each) => each.startsWith(call))).toContain("limit=100");
  }
});

test("subnets can show when they were created, on the page of their network and in the list", async () => {
  const network = `/networks/${world.facts.networks.shop}`;
  for (const [list, page] of [
    ["subnets", network],
    ["networks", "/networks"],
  ] as const) {
    expect(await heads(page)).not.toContain("Created");
    await choose(list, page, "20", ["created"]);
    expect(await heads(page)).toContain("Created");
    expect(await heads(page)).not.toContain("Tier");
  }
});

test("it returns to the list with its current filters, and only to this console", async () => {
  const html = await ada.page("/servers");
  const fields = { _token: "", list: "servers", rows: "20", columns: "status", return_to: "/servers" };
  const [tokenField] = /name="([^"]+)" value="[^"]+"/.exec(html)?.slice(1) ?? [];
  const form = { ...fields, [tokenField ?? ""]: tokenIn(html) };
  const back = async (referer: string) =>
    (await ada.post("/preferences", form, { referer })).headers.get("location");
  expect(await back("http://console.test/servers?q=app&sort=name")).toBe("/servers?q=app&sort=name");
  expect(await back("http://console.test//elsewhere.test/")).toBe("/servers");
  expect(await back("not an address")).toBe("/servers");
});

test("an invalid cookie changes nothing", async () => {
  const before = await heads("/servers");
  for (const nonsense of ["servers.50.%3Cscript%3E", "~~~", "servers.99999999", "%E0%A4%A"]) {
    ada.cookies.set("kule_lists", nonsense);
    const answer = await ada.get("/servers");
    expect(answer.status, nonsense).toBe(200);
    const html = await answer.text();
    expect(html, nonsense).not.toContain("<script>");
    expect(headsIn(html).slice(0, 2)).toEqual(before.slice(0, 2));
  }
});

test("a head sorts by its column, keeps the filters, reverses the order, and announces it", async () => {
  const html = await ada.page("/servers?q=app&status=running");
  expect(html).toContain(
    '<th scope="col" aria-sort="descending"><a href="/servers?q=app&amp;status=running&amp;sort=created_at">Created',
  );
  expect(html).toContain('<th scope="col"><a href="/servers?q=app&amp;status=running&amp;sort=name">Name');
  const { next_cursor: cursor } = await world.real.read("/servers?sort=name&limit=2");
  const named = await ada.page(`/servers?sort=name&cursor=${cursor}`);
  expect(named).toContain('<th scope="col" aria-sort="ascending"><a href="/servers?sort=-name">Name');
  expect(named).toContain('<th scope="col"><a href="/servers">Created');
  expect(named.match(/aria-sort/g)).toHaveLength(1);
  for (const page of ["/gateways", "/firewalls", "/ssh-keys"])
    expect(await ada.page(page)).toContain(`<a href="${page}?sort=name">Name</a>`);
});
