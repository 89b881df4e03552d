import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  signIn,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("gateways in a browser", { timeout: 120_000 }, () => {
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ world, watched, page } = panel);
    await signIn(page, world.url);
  });

  test("a network gets a gateway, which forwards a port and shows when the edge has applied it", async () => {
    await page.goto(`${world.url}/gateways`);
    await page.click("#content a[href='/gateways/new']");
    const chosen = `#content a[href='/gateways/new?network=${world.facts.networks.shop}']`;
    await page.waitForSelector(chosen);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "gateway-network");
    await page.click(chosen);
    await page.waitForSelector("input[name=network_id]", { state: "attached" });
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "gateway-create");
    await page.fill("#field-name", "out");
    await page.click("#content button[data-kind=primary]");
    await page.waitForSelector("text=The gateway is being created");

    await page.click("#add-forward > summary");
    await page.fill("#field-listen_port", "https");
    await page.click("#add-forward button[type=submit]");
    await page.waitForSelector("#listen_port-problem");
    await page.fill("#field-listen_port", "443");
    await page.fill("#field-target_port", "8443");
    await page.click("#add-forward button[type=submit]");
    await page.waitForSelector("text=The port is on its way");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "gateway");

    expect(await page.locator("#forwards .status").getAttribute("data-tone")).toBe("busy");
    await world.real.agent.work();
    await page.waitForSelector("#forwards .status[data-tone=good]");
    await page.goto(`${world.url}/gateways`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "gateways");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });
});
