import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
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

describe.skipIf(part.missing)("several servers at once in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ browser, world, watched, page } = panel);
    await signIn(page, world.url);
  });

  const ticked = () => page.locator("input[name=ids]:checked").count();

  test("boxes stay checked while the list refreshes itself, and the next page shows what the action will do", async () => {
    const { acme, agent } = world.real;
    const { "app-1": first, "app-2": second } = world.facts.servers;
    const statuses = () =>
      Promise.all([first, second].map(async (id) => (await world.real.read(`/servers/${id}`)).status));
    expect(await page.isVisible(".selection-bar")).toBe(false);
    await page.check(`#choose-${first}`);
    await page.check(`#choose-${second}`);
    expect(await page.isVisible(".selection-bar")).toBe(true);
    // The list is replaced, with a row that has changed.
    await done(acme.post(`/servers/${second}/power`, { action: "reboot" }));
    await page.waitForSelector(`#${second} >> text=rebooting`);
    expect(await ticked()).toBe(2);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers-chosen");
    await agent.work();
    expect(await statuses()).toEqual(["running", "running"]);
    await page.selectOption(".selection-bar select", "shutdown");
    await page.click(".selection-bar button");
    await page.waitForURL("**/servers/selected?**");
    expect(await page.textContent("h1")).toBe("Shut down 2 servers?");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers-selected");
    await page.click("main form button[type=submit]");
    await page.waitForSelector("h1:text-is('Requested')");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers-selected-end");
    expect(await statuses()).toEqual(["stopping", "stopping"]);
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("the box in the head selects the whole page", async () => {
    const all = await page.locator("input[name=ids]").count();
    expect(all).toBeGreaterThan(3);
    await page.check("[data-choose-all]");
    expect(await ticked()).toBe(all);
    await page.locator("input[name=ids]").first().uncheck();
    expect(await page.evaluate<boolean>("document.querySelector('[data-choose-all]').indeterminate")).toBe(
      true,
    );
    await page.check("[data-choose-all]");
    await page.uncheck("[data-choose-all]");
    expect(await ticked()).toBe(0);
  });

  test("without a script the boxes and the bar work too", async () => {
    const plain = await openPage(browser, { javaScriptEnabled: false });
    await signIn(plain.page, world.url);
    await plain.page.check("input[name=ids] >> nth=0");
    await plain.page.selectOption(".selection-bar select", "reboot");
    await plain.page.click(".selection-bar button");
    await plain.page.waitForURL("**/servers/selected?**");
    await plain.page.click("main form button[type=submit]");
    expect(await plain.page.textContent("h1")).toBe("Requested");
    await plain.context.close();
  });
});
