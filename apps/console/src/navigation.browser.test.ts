import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  openPage,
  signIn,
  signInAsOperator,
  type WatchedPage,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { everything } from "./testing/scenes/everything.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

const phone = { width: 390, height: 844 };

describe.skipIf(part.missing)("the navigation and the lists of the panel", { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof everything>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(everything, 30_000, (panel) => {
    ({ browser, world, watched, page } = panel);
  });

  test("a phone has four products in its bar and the rest in a menu, which works without a script", async () => {
    const plain = await openPage(browser, { javaScriptEnabled: false, locale: "tr-TR" });
    await plain.page.setViewportSize(phone);
    await signIn(plain.page, world.url);
    const bar = plain.page.locator(".sections > a:visible");
    expect(await bar.evaluateAll((links) => links.map((link) => link.getAttribute("href")))).toEqual([
      "/servers",
      "/networks",
      "/firewalls",
      "/public-ips",
    ]);
    await plain.page.click(".more-sections > summary");
    await plain.page.click(".more-sections a[href='/members']");
    await plain.page.waitForURL("**/members");
  });

  test("a phone's menu closes by a click beside it, and is free of findings when open", async () => {
    await signIn(page, world.url);
    await page.setViewportSize(phone);
    await page.click(".more-sections > summary");
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(phone.width);
    await page.click("h1");
    expect(await page.locator(".more-sections").getAttribute("open")).toBe(null);
    expect(watched.complaints).toEqual([]);
  });

  test("on a low screen every entry of the rail can be reached", async () => {
    await signIn(page, world.url);
    await page.setViewportSize({ width: 1280, height: 500 });
    await page.click(".sections > a[href='/quotas']");
    await page.waitForURL("**/quotas");
    expect(await page.locator(".account > summary").isVisible()).toBe(true);
  });

  test("tabs scroll sideways in one row on a phone, with the current one in view", async () => {
    await signInAsOperator(page, world.url);
    await page.setViewportSize(phone);
    for (const path of ["/operator", "/operator/audit"]) {
      await page.goto(world.url + path);
      const tabs = await page.locator(".tabs").boundingBox();
      const current = await page.locator(".tabs [aria-current]").boundingBox();
      expect(tabs?.height).toBeLessThan(60);
      expect(current?.x).toBeGreaterThanOrEqual(0);
      expect((current?.x ?? 0) + (current?.width ?? 0)).toBeLessThanOrEqual(phone.width);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(phone.width);
    }
    // The focus brings each tab into view.
    await page.focus(".tabs a:first-child");
    expect((await page.locator(".tabs a:first-child").boundingBox())?.x).toBeGreaterThanOrEqual(0);
  });

  test("rows of a list are one line high on a desktop, and heads do not wrap in Turkish", async () => {
    // Among the longest words for a time: 43 dakika önce.
    for (const table of ["server", "gateway", "firewall", "public_ip", "ssh_key", "job"])
      await world.real.sql(`update ${table} set created_at = clock_timestamp() - interval '43 minutes'`);
    const turkish = await openPage(browser, { locale: "tr-TR" });
    await signIn(turkish.page, world.url);
    await turkish.page.setViewportSize({ width: 1440, height: 900 });
    for (const path of ["/servers", "/gateways", "/firewalls", "/public-ips", "/ssh-keys", "/jobs"]) {
      await turkish.page.goto(world.url + path);
      const heights = (rows: string) =>
        turkish.page
          .locator(rows)
          .evaluateAll((found) => found.map((row) => Math.round(row.getBoundingClientRect().height)));
      expect(Math.max(...(await heights(".list thead tr"))), path).toBeLessThanOrEqual(40);
      expect(Math.min(...(await heights(".list tbody tr"))), path).toBeLessThanOrEqual(46);
      expect(await turkish.page.evaluate("document.documentElement.scrollWidth"), path).toBeLessThanOrEqual(
        1440,
      );
    }
  });
});
