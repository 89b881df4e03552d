import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openPage,
  signIn,
  signInAsOperator,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { servers } from "./testing/scenes/servers.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)(
  "the audit trail and the quotas of an organisation, in a browser",
  { timeout: 240_000 },
  () => {
    let browser: Browser;
    let world: PanelWorld<FactsOf<typeof servers>>;
    let watched: WatchedPage;
    let page: Page;
    let server: string;

    sceneInBrowser(servers, 60_000, async (panel) => {
      ({ browser, world, watched, page } = panel);
      server = `/servers/${world.facts.servers["web-1"]}`;
      const { acme, operator } = world.real;
      await done(acme.patch(server, { protection: { delete: true } }));
      await acme.delete(server);
      await done(acme.post("/public-ips", { region: "ist1" }));
      await done(operator.patch("/regions/ank1", { name: "Ankara" }));
      await done(acme.post(`${server}/power`, { action: "reboot" }));
    });

    test.each([["en-GB"], ["tr-TR"]])(
      "the trail is filtered by refusals, and quotas show which are full (%s)",
      async (locale) => {
        watched = await openPage(browser, { locale });
        page = watched.page;
        page.setDefaultTimeout(60_000);
        const limits = { servers: Object.keys(world.facts.servers).length };
        await done(world.real.operator.put(`/organisations/${world.facts.acme.id}/quotas`, { limits }));
        await signIn(page, world.url);
        await page.goto(`${world.url}/audit`);
        await page.click(".audit-more");
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `audit-${locale}`);
        await page.selectOption("#field-outcome", "refused");
        await page.click(".audit-filters button[type=submit]");
        await page.waitForURL("**outcome=refused**");
        const refused = await page.locator(".audit tbody tr").allTextContents();
        expect(refused).toEqual([expect.stringContaining("server.delete")]);

        await page.goto(`${world.url}/quotas`);
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `quotas-${locale}`);
        await page.goto(`${world.url}/usage`);
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `usage-products-${locale}`);
        await page.goto(world.url + server);
        await page.click("#api-calls > summary");
        await page.click(".calls details:nth-of-type(2) > summary");
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `server-calls-${locale}`);
        expect(complaintsBeyond(watched)).toEqual([]);
      },
    );

    test("operators see the trail of the installation", async () => {
      await signInAsOperator(page, world.url);
      await page.goto(`${world.url}/operator/audit`);
      // The first one is the sign-in.
      const rows = page.locator(".audit tbody tr");
      expect(await rows.nth(1).textContent()).toContain("server.power");
      expect(await rows.nth(2).textContent()).toContain("region.update");
      expect(await rows.nth(4).textContent()).toContain("server.delete");
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, "operator-audit");
      expect(complaintsBeyond(watched)).toEqual([]);
    });
  },
);
