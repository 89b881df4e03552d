import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { signIn, type WatchedPage } from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { servers } from "./testing/scenes/servers.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the panel without a mouse", { timeout: 240_000 }, () => {
  let world: PanelWorld<FactsOf<typeof servers>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(servers, 30_000, (panel) => {
    ({ world, watched, page } = panel);
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
