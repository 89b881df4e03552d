import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openBrowser,
  openPage,
  signIn,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { fakeToken } from "./testing/fake-tokens.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("API tokens in a browser", { timeout: 180_000 }, () => {
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
  });
  afterEach(async () => {
    await watched.context.close();
    await world.stop();
    expect(world.api.defects).toEqual([]);
  });

  test.each([["en-GB"], ["tr-TR"]])(
    "a token is created with selected permissions, rotated and revoked (%s)",
    async (locale) => {
      watched = await openPage(browser, { locale });
      page = watched.page;
      page.setDefaultTimeout(30_000);
      world.api.state.tokens.push(
        fakeToken({ name: "backup", scopes: ["*:read"], last_used_at: new Date().toISOString() }),
        fakeToken({ name: "old laptop", role: "admin", revoked_at: "2026-11-01T08:00:00.000Z" }),
      );
      await signIn(page, world.url);
      await page.goto(`${world.url}/tokens`);
      await page.click(".page-acts a[href='/tokens/new']");
      await page.fill("#field-name", "deploy");
      await page.check("input[name=access][value=chosen]");
      await page.click(".scopes > summary");
      await page.check("input[value='server:read']");
      await page.check("input[value='server:update']");
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, `tokens-choose-${locale}`);
      await page.click(".token-form button[type=submit]");
      await page.waitForSelector("#shown-once");
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, `tokens-${locale}`);
      await page.click(".secret a.button");

      const row = page.locator("tr", { hasText: "deploy" });
      await row.locator("summary").first().click();
      await row.locator("select").selectOption("hour");
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, `tokens-rotate-${locale}`);
      await row.locator("form[action$='/rotate'] button[type=submit]").click();
      await page.waitForSelector("#shown-once");
      const first = page.locator("tr", { hasText: "deploy" }).first();
      await first.locator("form[action$='/revoke']").locator("xpath=..").locator("summary").first().click();
      await first.locator("button[data-kind=danger]").click();
      await page.waitForURL("**/tokens?notice=revoked");
      expect(complaintsBeyond(watched)).toEqual([]);
    },
  );
});
