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
import { seeHealth } from "./testing/load-balancer-states.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("load balancers in a browser", { timeout: 120_000 }, () => {
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ world, watched, page } = panel);
    await signIn(page, world.url);
  });

  test("a load balancer is created after a live check, and its page shows what becomes healthy by itself", async () => {
    await page.goto(`${world.url}/load-balancers`);
    await page.click("#content a[href='/load-balancers/new']");
    await page.fill("#field-name", "front");
    await page.waitForSelector("#check-result .ready");
    // The fields of a certificate are those of https alone.
    expect(await page.isVisible("#listener-certificates")).toBe(false);
    await page.selectOption("#field-protocol", "https");
    expect(await page.isVisible("#listener-certificates")).toBe(true);
    await page.waitForSelector("#certificate_ids-problem");
    await page.selectOption("#field-protocol", "http");
    await page.fill("#field-target_port", "8080");
    await page.fill("#field-label_selector", "role=web");
    await page.check(`#target-${world.facts.servers["db-1"]}`);
    await page.fill("#field-addresses", "10.20.0.99");
    await page.waitForSelector("#check-result .ready");
    expect(await page.inputValue("#field-label_selector")).toBe("role=web");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "load-balancer-create");
    await page.click("#create-summary button[value=create]");
    await page.waitForSelector("text=The load balancer is being created");
    await takeScreenshots(page, "load-balancer-new");

    await world.real.agent.work();
    const id = new URL(page.url()).pathname.split("/")[2] ?? "";
    await seeHealth(world.real, id, "10.20.0.99");
    await page.waitForSelector("#targets .status[data-tone=bad]");
    await page.waitForSelector("text=The target refused the connection at port 8080.");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "load-balancer");
    await page.locator("#targets").scrollIntoViewIfNeeded();
    await page.evaluate('document.querySelector("#targets").scrollIntoView()');
    await takeScreenshots(page, "load-balancer-targets");
    await page.context().addCookies([{ name: "kule_language", value: "tr", url: world.url }]);
    await page.reload();
    await page.waitForSelector("text=Hedef bağlantıyı reddetti.");
    await takeScreenshots(page, "load-balancer-turkish");
    await page.context().clearCookies({ name: "kule_language" });

    await page.goto(`${world.url}/load-balancers`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "load-balancers");
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("a listener is added on a page that shows only the fields of its protocol, and a target is drained", async () => {
    const body = {
      name: "front",
      subnet_id: world.facts.subnets.app,
      targets: [{ server_id: world.facts.servers["app-1"] }],
    };
    const made = await world.real.acme.post("/load-balancers", body);
    await world.real.agent.work();
    await page.goto(`${world.url}/load-balancers/${made.body.load_balancer.id}`);
    await page.click("#listeners .panel-head a");
    await page.selectOption("#field-protocol", "tls_passthrough");
    for (const hidden of ["#listener-certificates", "input[name=redirect_to_https]", "#field-path"])
      expect(await page.isVisible(hidden), hidden).toBe(false);
    await page.selectOption("#field-protocol", "http");
    await page.selectOption("#field-check_protocol", "http");
    await page.fill("#field-path", "/up");
    await page.fill("#field-port", "22");
    await page.click("#more-listener > summary");
    await page.check("input[name=sticky]");
    expect(await page.isVisible("#field-cookie_name")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "load-balancer-listener");
    await page.click("#listener-form button[type=submit]");
    await page.waitForSelector("#port-problem");
    expect(await page.inputValue("#field-path")).toBe("/up");
    await page.fill("#field-port", "80");
    await page.click("#listener-form button[type=submit]");
    await page.waitForSelector("text=The listener is on its way.");

    await page.click("#targets button[name=drain]");
    await page.waitForSelector("text=The target gets no new connections any more.");
    await page.click("#targets button[name=drain]");
    await page.waitForSelector("text=The target gets new connections again.");

    await page.click("#targets .panel-head a");
    await page.check("input[name=kind][value=labels]");
    expect(await page.isVisible("#field-server_id")).toBe(false);
    await page.fill("#field-label_selector", "role=db");
    await takeScreenshots(page, "load-balancer-target");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.click("#target-form button[type=submit]");
    await page.waitForSelector("text=The target is on its way.");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });
});
