import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser, openPage, signIn, type WatchedPage } from "./testing/browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { seedEverything } from "./testing/seed-everything.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the panel without a mouse", { timeout: 240_000 }, () => {
  let browser: Browser;
  let world: ConsoleWorld;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
  }, 60_000);
  afterAll(() => browser?.close());
  beforeEach(async () => {
    world = await startConsoleWorld({ listen: true });
    seedEverything(world.api.state);
    watched = await openPage(browser);
    page = watched.page;
    page.setDefaultTimeout(30_000);
  }, 60_000);
  afterEach(async () => {
    await watched.context.close();
    await world.stop();
    expect(world.api.defects).toEqual([]);
  });

  const focused = () =>
    page.evaluate(`(() => {
      const { activeElement: here } = document;
      return here.id || here.getAttribute("href") || here.getAttribute("aria-label") || here.textContent.trim();
    })()`) as Promise<string>;

  test("a person signs in, and skips the navigation", async () => {
    await page.goto(`${world.url}/sign-in`);
    // The e-mail field has the focus already.
    await expect.poll(() => page.evaluate(`document.activeElement.name`)).toBe("email");
    await page.keyboard.type("ada@example.org");
    await page.keyboard.press("Tab");
    await page.keyboard.type("correct horse");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/servers");

    await page.keyboard.press("Tab");
    expect(await focused()).toBe("#content");
    expect(await page.locator(".skip-link").boundingBox()).toMatchObject({ x: expect.any(Number) });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("/servers/new");
    expect(watched.complaints).toEqual([]);
  });

  test("a confirmation opens by Enter, closes by Escape, and only one is open at a time", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/members`);
    const questions = page.locator(".list details.confirm");
    const isOpen = (index: number) => questions.nth(index).evaluate((each) => each.hasAttribute("open"));
    await questions.nth(0).locator("summary").first().focus();
    await page.keyboard.press("Enter");
    expect(await isOpen(0)).toBe(true);
    await page.keyboard.press("Tab");
    expect(await focused()).toMatch(/^role-mem_/);
    await page.keyboard.press("Escape");
    expect(await isOpen(0)).toBe(false);
    // The focus returns to the button.
    expect(await focused()).toMatch(/^Change role/);

    await page.keyboard.press("Enter");
    await questions.nth(1).locator("summary").first().focus();
    await page.keyboard.press("Enter");
    // The click that Enter triggers is outside of the first confirmation.
    expect([await isOpen(0), await isOpen(1)]).toEqual([false, true]);
    expect(watched.complaints).toEqual([]);
  });

  test("menus and the palette return the focus to what opened them", async () => {
    await signIn(page, world.url);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.focus(".more-sections > summary");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("/gateways");
    await page.keyboard.press("Escape");
    expect(await focused()).toBe("More");
    expect(await page.locator(".more-sections").getAttribute("open")).toBe(null);
    await page.setViewportSize({ width: 1360, height: 900 });
    await page.focus("a.organisation");
    const organisation = await focused();
    await page.keyboard.press("Control+k");
    await page.waitForSelector("#palette[open]");
    await page.keyboard.type("netw");
    await page.waitForSelector("#palette-results a[href='/networks']");
    await page.keyboard.press("Escape");
    expect(await focused()).toBe(organisation);
    // Also when the results arrive after the arrow key, and no longer contain the focused link.
    await page.keyboard.press("Control+k");
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector("#palette-results a[href='/networks/new']");
    await page.waitForSelector("#palette-results a[href='/servers/new']", { state: "detached" });
    await page.keyboard.press("Enter");
    // The first result: to create one.
    await page.waitForURL("**/networks/new");
    expect(watched.complaints).toEqual([]);
  });
});
