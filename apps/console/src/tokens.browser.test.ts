import { ApiCaller } from "@kule/api/testing/api-caller";
import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openPage,
  signIn,
  takeScreenshots,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { people } from "./testing/scenes/people.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("API tokens in a browser", { timeout: 180_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof people>>;

  sceneInBrowser(people, 30_000, (panel) => {
    ({ browser, world } = panel);
  });

  test.each([["en-GB"], ["tr-TR"]])(
    "a token is created with selected permissions, rotated and revoked (%s)",
    async (locale) => {
      const watched = await openPage(browser, { locale });
      const { page } = watched;
      page.setDefaultTimeout(30_000);
      const { acme, app } = world.real;
      const backup = await done(acme.post("/tokens", { name: "backup", role: "member", scopes: ["*:read"] }));
      await done(new ApiCaller(app, backup.secret).get("/servers"));
      const old = await done(acme.post("/tokens", { name: "old laptop", role: "admin" }));
      await done(acme.delete(`/tokens/${old.token.id}`));
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
      const tokens = await world.real.list("/tokens");
      expect(tokens.filter(({ name }) => name === "deploy")).toMatchObject([
        { scopes: ["server:read", "server:update"], revoked_at: expect.any(String) },
        { scopes: ["server:read", "server:update"], revoked_at: null },
      ]);
      expect(complaintsBeyond(watched)).toEqual([]);
    },
  );
});
