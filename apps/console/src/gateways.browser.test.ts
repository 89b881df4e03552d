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
import type { ConsoleWorld } from "./testing/console-world.ts";
import { panelInBrowser } from "./testing/panel-in-browser.ts";
import { seedNetworks } from "./testing/seed-networks.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("gateways in a browser", { timeout: 120_000 }, () => {
  let world: ConsoleWorld;
  let watched: WatchedPage;
  let page: Page;

  panelInBrowser(25_000, async (panel) => {
    ({ world, watched, page } = panel);
    seedNetworks(world.api.state);
    await signIn(page, world.url);
  });

  test("a network gets a gateway, which forwards a port and shows when the edge has applied it", async () => {
    await page.goto(`${world.url}/gateways`);
    await page.click("#content a[href='/gateways/new']");
    await page.waitForSelector("#content a[href^='/gateways/new?network=']");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "gateway-network");
    await page.click("#content a[href^='/gateways/new?network=']");
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

    const [gateway] = world.api.state.gateways;
    const [forward] = world.api.state.portForwards;
    if (gateway === undefined || forward === undefined) throw new Error("no gateway");
    gateway.status = "active";
    gateway.job_id = null;
    forward.status = "active";
    await page.waitForSelector("#forwards .status[data-tone=good]");
    await page.goto(`${world.url}/gateways`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "gateways");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });
});
