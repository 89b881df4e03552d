import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "./testing/panel-world.ts";
import { type People, people } from "./testing/scenes/people.ts";
import { tokenIn, Visitor } from "./testing/visitor.ts";

let world: PanelWorld<People>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";
const keys = () => world.real.list("/ssh-keys");

describe("forged requests", () => {
  test.each([
    ["from another site", { "sec-fetch-site": "cross-site", origin: "http://evil.test" }],
    ["from a sibling of this site", { "sec-fetch-site": "same-site", origin: "http://other.console.test" }],
    ["with another origin and no word on the site", { "sec-fetch-site": "", origin: "http://evil.test" }],
  ])("a form %s changes nothing, even with a good token", async (_, headers) => {
    const fields = { form_token: tokenIn(await ada.page("/ssh-keys/new")), name: "k", public_key: key };
    expect((await ada.post("/ssh-keys/new", fields, headers)).status).toBe(403);
    expect(await keys()).toEqual([]);
    expect((await ada.post("/ssh-keys/new", fields)).status).toBe(303);
  });

  test.each([
    ["without a token", {}],
    ["with a made-up token", { form_token: "bm9uY2U.c2lnbmF0dXJl" }],
  ])("a form %s changes nothing", async (_, fields) => {
    const response = await ada.post("/ssh-keys/new", { ...fields, name: "k", public_key: key });
    expect(response.status).toBe(403);
    expect(await keys()).toEqual([]);
  });

  test("a token of one session is refused in another", async () => {
    const other = await new Visitor(world).signIn();
    const token = tokenIn(await other.page("/ssh-keys/new"));
    const fields = { form_token: token, name: "k", public_key: key };
    expect((await ada.post("/ssh-keys/new", fields)).status).toBe(403);
    expect((await other.post("/ssh-keys/new", fields)).status).toBe(303);
  });

  test("sign-in is protected too: another site cannot sign a browser in", async () => {
    const browser = new Visitor(world);
    const response = await browser.post("/sign-in", { email: "ada@example.org", password: "correct horse" });
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe("/sign-in?why=cookies");
    expect(browser.cookies.has("kule_session")).toBe(false);
    expect(world.api.sent).toEqual([]);
  });
});

describe("headers", () => {
  test("pages allow no inline code, no framing and no caching", async () => {
    const response = await ada.get("/servers");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    const nonce = /script-src 'nonce-([A-Za-z0-9+/]{22}==)'; style-src 'nonce-\1';/.exec(policy)?.[1];
    expect(nonce).toBeDefined();
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const page = await response.text();
    expect(page).not.toMatch(/<script(?![^>]*src=)/);
    // Every script has the nonce of this answer's policy.
    const loaded = [...page.matchAll(/<script[^>]*>|<link rel="stylesheet"[^>]*>/g)].map(([tag]) => tag);
    expect(loaded.length).toBeGreaterThanOrEqual(2);
    expect(loaded.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([]);
    expect((await ada.get("/servers")).headers.get("content-security-policy")).not.toContain(nonce);
    expect(page).not.toMatch(/\sstyle=|\son\w+=/);
  });

  test("pages are compressed for browsers that ask for it", async () => {
    const browser = new Visitor(world, { "accept-encoding": "gzip, deflate, br" });
    const compressed = await browser.get("/sign-in");
    expect(compressed.headers.get("content-encoding")).toBe("gzip");
    expect(compressed.headers.get("vary")).toContain("Accept-Encoding");
    const bytes = Buffer.from(await compressed.arrayBuffer());
    expect(gunzipSync(bytes).toString()).toContain('name="password"');
    const plain = await new Visitor(world).get("/sign-in");
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect((await plain.text()).length).toBeGreaterThan(2 * bytes.length);
  });

  test("a form that is too large is refused before it is read", async () => {
    const response = await ada.submit("/ssh-keys/new", "/ssh-keys/new", {
      name: "k",
      public_key: "x".repeat(200_000),
    });
    expect(response.status).toBe(413);
    expect(await response.text()).toContain("That is too much text");
  });
});

test("asking for markup in the language of the browser", async () => {
  const turkish = new Visitor(world, { "accept-language": "tr-TR,tr;q=0.9,en;q=0.5" });
  expect(await turkish.page("/sign-in")).toContain('<html lang="tr"');
  await turkish.submit("/sign-in", "/preferences", { language: "en", return_to: "/sign-in" });
  expect(await turkish.page("/sign-in")).toContain('<html lang="en"');
});
