import type { Browser } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openPage, signIn, signInAsOperator, takeScreenshots } from "./testing/browser.ts";
import { crawl, isDownload } from "./testing/crawl.ts";
import { missedStyles, stylesOfParts } from "./testing/missed-styles.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { refreshTroubles } from "./testing/region-troubles.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { troubled } from "./testing/scenes/troubled.ts";

let browser: Browser;
let world: PanelWorld<FactsOf<typeof troubled>>;
sceneInBrowser(troubled, 10_000, (panel) => {
  ({ browser, world } = panel);
  return refreshTroubles(world.real);
});

/** Pages that the crawl must find: without them it would not cover the panel. */
const landmarks = {
  owner: [
    "/servers",
    "/networks",
    "/gateways",
    "/load-balancers",
    "/domains",
    "/certificates",
    "/firewalls",
    "/ssh-keys",
    "/public-ips",
    "/jobs",
    "/usage",
    "/members",
    "/members/invite",
    "/tokens",
    "/tokens/new",
    "/audit",
    "/quotas",
    "/account/security",
    "/servers/new",
    "/gateways/new",
    "/load-balancers/new",
    "/domains/new",
    "/certificates/new",
    "/public-ips/new",
    "/ssh-keys/new",
    "/search",
  ],
  operator: [
    "/operator",
    "/operator/regions",
    "/operator/agent-updates",
    "/operator/drift",
    "/operator/invariants",
    "/operator/audit",
    "/operator/import",
    "/operator/restore",
    "/operator/regions/new",
    "/organisations",
    "/organisations/new",
    "/ip-pools",
    "/ip-pools/new",
  ],
};

describe.each([
  ["owner", "en-GB"],
  ["owner", "tr-TR"],
  ["operator", "en-GB"],
  ["operator", "tr-TR"],
] as const)("for an %s whose browser speaks %s", (role, locale) => {
  test("no link of any page is broken, and no page causes a browser error, without a script", async () => {
    const { page, context, complaints } = await openPage(browser, { locale, javaScriptEnabled: false });
    if (role === "owner") await signIn(page, world.url);
    else await signInAsOperator(page, world.url);
    const languageMark = `lang="${locale.slice(0, 2)}"`;
    const broken: string[] = [];
    const otherwise: string[] = [];
    const parts = await stylesOfParts(browser, world);
    // Servers with other statuses have the same links, styles and scripts, and so have pages in another language.
    const rendered = new Map<string, number>();
    const takesRendering = (path: string) => {
      const shape = path.replaceAll(/[a-z]+_[0-9a-z]{10,}/g, "*").replaceAll(/=[^&]*/g, "=");
      const times = rendered.get(shape) ?? 0;
      rendered.set(shape, times + 1);
      return times < (locale === "en-GB" ? 2 : 0);
    };
    const found = await crawl(role === "owner" ? "/servers" : "/operator", async ({ path, from }) => {
      const before = complaints.length;
      // A download is not a page; it is requested all the same.
      if (isDownload(path)) {
        const file = await context.request.get(world.url + path);
        if (file.status() >= 400) broken.push(`${file.status()} ${path} (on ${from})`);
        return null;
      }
      if (!takesRendering(path)) {
        const answer = await context.request.get(world.url + path, {
          headers: { "accept-language": locale },
        });
        if (answer.status() >= 400) broken.push(`${answer.status()} ${path} (on ${from})`);
        const html = await answer.text();
        if (!html.includes(languageMark)) otherwise.push(path);
        return html;
      }
      const answer = await page.goto(world.url + path, { waitUntil: "load" });
      const status = answer?.status() ?? 0;
      if (status === 0 || status >= 400) broken.push(`${status} ${path} (on ${from})`);
      for (const complaint of complaints.slice(before)) broken.push(`${path}: ${complaint}`);
      const html = await page.content();
      for (const missed of await missedStyles(page, parts)) broken.push(`${path}: does not load ${missed}`);
      if (!html.includes(languageMark)) otherwise.push(path);
      return html;
    });
    expect(broken).toEqual([]);
    expect(otherwise).toEqual([]);
    const paths = found.map(({ path }) => path);
    expect(landmarks[role].filter((path) => !paths.includes(path))).toEqual([]);
  }, 240_000);
});

const white = "rgb(255, 255, 255)";

test("print shows the page's content only: no rail, no buttons, no overlays", async () => {
  const { page } = await openPage(browser);
  await signIn(page, world.url);
  const server = `/servers/${world.facts.servers["app-1"]}`;
  const seen = (selector: string) => page.locator(selector).filter({ visible: true }).count();
  for (const path of ["/servers", server, "/usage", `${server}/audit`]) {
    await page.goto(world.url + path);
    expect(await seen(".rail"), path).toBe(1);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    for (const selector of [
      ".rail",
      "button",
      ".button",
      "#toasts",
      "dialog",
      ".skip-link",
      ".selection-bar",
      ".tabs",
      "search",
    ])
      expect(await seen(selector), `${selector} on ${path}`).toBe(0);
    expect(await seen("h1"), path).toBe(1);
    // Paper is white, whatever the theme.
    expect(await page.evaluate("getComputedStyle(document.body).backgroundColor"), path).toBe(white);
    expect(await page.evaluate("getComputedStyle(document.querySelector('h1')).color"), path).not.toBe(white);
    await takeScreenshots(page, `print${path.replaceAll(/\/[a-z]+_[^/]+|\//g, "-")}`);
    await page.emulateMedia({ media: "print" });
    await page.emulateMedia({ media: "screen", colorScheme: null });
  }
});

test("script and style of the first page are within their budget", async () => {
  const { page } = await openPage(browser);
  const sizes = new Map<string, { readonly wire: number; readonly raw: number }>();
  const measured: Promise<void>[] = [];
  page.on("requestfinished", (request) => {
    if (!["script", "stylesheet"].includes(request.resourceType())) return;
    measured.push(
      (async () => {
        const { responseBodySize: wire } = await request.sizes();
        const raw = (await (await request.response())?.body())?.length ?? 0;
        // Later loads come from the cache without a transfer.
        if (!sizes.has(request.url())) sizes.set(request.url(), { wire, raw });
      })(),
    );
  });
  await signIn(page, world.url);
  await page.waitForLoadState("networkidle");
  await Promise.all(measured);
  const kinds = [...sizes.keys()].map((url) => url.split(".").at(-1)).sort();
  expect(kinds).toEqual(["css", "js"]);
  const sum = (of: "wire" | "raw") => [...sizes.values()].reduce((bytes, size) => bytes + size[of], 0);
  process.stdout.write(`script and style: ${sum("wire")} bytes on the wire, ${sum("raw")} unpacked\n`);
  expect(sum("wire")).toBeGreaterThan(0);
  expect(sum("wire")).toBeLessThan(45_000);
  expect(sum("raw")).toBeLessThan(107_200);
});
