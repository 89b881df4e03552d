import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterEach, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openPage,
  signIn,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("finding things in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ browser, world, watched, page } = panel);
    await signIn(page, world.url);
    // Shortcuts work only once the script has run.
    await page.waitForLoadState("load");
  });
  afterEach(() => {
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  const network = "shop";
  const focused = () => page.evaluate<string>("document.activeElement?.textContent ?? ''");

  test("the palette opens from the keyboard, finds by name, and Enter opens its first result", async () => {
    await page.keyboard.press("Control+k");
    await page.waitForSelector("#palette[open] .search-list");
    expect(await page.textContent("#palette-results")).toContain("Create a server");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "palette");
    await page.keyboard.type(network.slice(0, 3));
    await page.waitForSelector(`#palette-results a[href^="/networks/net_"]`);
    await takeScreenshots(page, "palette-found");
    await page.keyboard.press("ArrowDown");
    expect(await focused()).toContain(network);
    await page.keyboard.press("ArrowUp");
    await Promise.all([page.waitForURL("**/networks/net_*"), page.keyboard.press("Enter")]);
    await page.waitForLoadState("load");
    // The next page starts with the palette closed, and Escape closes it here without a trace.
    await page.keyboard.press("Control+k");
    await page.waitForSelector("#palette[open]");
    await page.keyboard.press("Escape");
    expect(await page.isVisible("#palette")).toBe(false);
  });

  test("the palette shows results however early it is opened", async () => {
    // Right after the script of the page has run.
    const press = `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }))`;
    await page.addInitScript(`document.addEventListener("DOMContentLoaded", () => ${press})`);
    await page.goto(`${world.url}/networks`);
    await page.waitForSelector("#palette[open] .search-list");
  });

  test("the results belong to the last typed text, however slow the answers are", async () => {
    const asked: (string | null)[] = [];
    await page.route("**/search?q=*", async (route) => {
      asked.push(new URL(route.request().url()).searchParams.get("q"));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      // The page no longer waits for an answer to an earlier text.
      await route.continue().catch(() => {});
    });
    await page.keyboard.press("Control+k");
    await page.waitForSelector("#palette[open]");
    // More than one text while the first answer is pending.
    await page.keyboard.type(network.slice(0, 3), { delay: 300 });
    await page.waitForSelector(`#palette-results a[href^="/networks/net_"]`);
    expect(asked.at(-1)).toBe(network.slice(0, 3));
    expect(asked.length).toBeGreaterThan(2);
  });

  test("shortcuts open pages, and never while a field has the focus", async () => {
    await page.keyboard.press("g");
    await Promise.all([page.waitForURL("**/firewalls"), page.keyboard.press("f")]);
    await page.waitForLoadState("load");
    await page.keyboard.press("?");
    await page.waitForSelector("#shortcuts[open]");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "shortcuts");
    await page.click("#shortcuts [data-close-dialog]");
    await page.goto(`${world.url}/servers`);
    await page.keyboard.press("/");
    await page.keyboard.type("g f c ?");
    expect(new URL(page.url()).pathname).toBe("/servers");
    expect(await page.inputValue("main input[type=search]")).toBe("g f c ?");
  });

  test("open jobs are shown on every page, and so are their results", async () => {
    const { acme, agent } = world.real;
    const server = { name: "web-1", region: "ist1", image: "debian-13", package: "s" };
    await done(acme.post("/servers", { ...server, subnet_id: world.facts.subnets.app }));
    await page.goto(`${world.url}/ssh-keys`);
    await page.waitForSelector("#activity .activity-link[data-busy]");
    expect(await page.textContent("#activity")).toContain("1 job is running");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "activity");
    await page.goto(`${world.url}/usage`);
    await page.waitForSelector("#activity .activity-link[data-busy]");
    await agent.fail(await agent.take("ServerCreate"));
    await page.waitForSelector("#toasts .toast");
    expect(await page.textContent("#toasts .toast")).toContain("Create server · web-1: failed");
    expect(await page.textContent("#announcements")).toContain("Create server · web-1: failed");
    expect(await page.textContent("#activity")).toContain("No jobs running");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "toast");
    await page.click(".toast-close");
    expect(await page.locator(".toast").count()).toBe(0);
  });

  test("without a script the palette is a page", async () => {
    const plain = await openPage(browser, { javaScriptEnabled: false });
    await signIn(plain.page, world.url);
    await plain.page.click(".palette-link");
    await plain.page.waitForURL("**/search");
    await plain.page.fill("main input[type=search]", network);
    await plain.page.click("main form[action='/search'] button");
    expect(await plain.page.textContent("#search-results")).toContain(network);
    await takeScreenshots(plain.page, "search");
    await plain.context.close();
  });
});
