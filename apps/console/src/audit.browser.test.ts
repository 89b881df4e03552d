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
  signInAsOperator,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { fakeEntry } from "./testing/fake-audit.ts";
import { seedNetworks } from "./testing/seed-networks.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)(
  "the audit trail and the quotas of an organisation, in a browser",
  { timeout: 240_000 },
  () => {
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
      seedNetworks(world.api.state);
      const organisation_id = world.api.state.organisations[0]?.id ?? null;
      const server = world.api.state.servers[0]?.id ?? null;
      world.api.state.audit.push(
        fakeEntry({
          action: "server.power",
          organisation_id,
          resource: server,
          details: { action: "reboot" },
        }),
        fakeEntry({
          action: "server.delete",
          organisation_id,
          resource: server,
          outcome: "refused",
          code: "protected",
          http_status: 409,
        }),
        fakeEntry({
          action: "ssh_key.create",
          organisation_id,
          actor: { type: "token", id: "tok_ci", name: "ci" },
          at: "2026-11-20T08:00:00.000Z",
        }),
        fakeEntry({ action: "region.update", actor: { type: "operator", id: "tok_ops", name: "on call" } }),
      );
    });
    afterEach(async () => {
      await watched.context.close();
      await world.stop();
      expect(world.api.defects).toEqual([]);
    });

    async function open(locale: string): Promise<void> {
      watched = await openPage(browser, { locale });
      page = watched.page;
      page.setDefaultTimeout(60_000);
    }

    test.each([["en-GB"], ["tr-TR"]])(
      "the trail is filtered by refusals, and quotas show which are full (%s)",
      async (locale) => {
        await open(locale);
        world.api.state.limits.set("servers", world.api.state.servers.length);
        await signIn(page, world.url);
        await page.goto(`${world.url}/audit`);
        await page.click(".audit-more");
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `audit-${locale}`);
        await page.selectOption("#field-outcome", "refused");
        await page.click(".audit-filters button[type=submit]");
        await page.waitForURL("**outcome=refused**");
        expect(await page.locator(".audit tbody tr").count()).toBe(1);

        await page.goto(`${world.url}/quotas`);
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `quotas-${locale}`);
        await page.goto(`${world.url}/usage`);
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `usage-products-${locale}`);
        await page.goto(`${world.url}/servers/${world.api.state.servers[0]?.id}`);
        await page.click("#api-calls > summary");
        await page.click(".calls details:nth-of-type(2) > summary");
        expect(await accessibilityProblems(page)).toEqual([]);
        await takeScreenshots(page, `server-calls-${locale}`);
        expect(complaintsBeyond(watched)).toEqual([]);
      },
    );

    test("operators see the trail of the installation", async () => {
      await open("en-GB");
      await signInAsOperator(page, world.url);
      await page.goto(`${world.url}/operator/audit`);
      expect(await page.locator(".audit tbody tr").count()).toBe(4);
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, "operator-audit");
      expect(complaintsBeyond(watched)).toEqual([]);
    });
  },
);
