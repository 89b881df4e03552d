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
import { stopServer } from "./testing/server-states.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("a list that people work in, in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ browser, world, watched, page } = panel);
    await signIn(page, world.url);
  });

  const idOf = (name: string) => world.facts.servers[name] ?? "";
  /** The agent has not stopped it yet. */
  const requestStop = (name: string) =>
    done(world.real.acme.post(`/servers/${idOf(name)}/power`, { action: "stop" }));
  const heads = async (of: Page) => (await of.locator("#server-list thead th").allTextContents()).join(" ");

  test("a row's menu stays open, with the focus in it, while the list refreshes itself", async () => {
    const id = idOf("app-1");
    const menu = page.locator(`#acts-${id}`);
    await menu.locator("summary").focus();
    await page.keyboard.press("Enter");
    const reboot = menu.getByRole("link", { name: "Reboot" });
    await reboot.focus();
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers-row-menu");

    // Another row changes first: the list was replaced, and the focus stays.
    await requestStop("app-2");
    await page.waitForSelector(`#${idOf("app-2")} >> text=stopping`);
    expect(await menu.getAttribute("open")).not.toBeNull();
    expect(await menu.locator("a:focus").textContent()).toBe("Reboot");

    // Then its own row: an action that is no longer available is disabled with the reason.
    await stopServer(world.real, `/servers/${id}`);
    await page.waitForSelector(`#${id} >> text=stopped`);
    expect(await menu.getAttribute("open")).not.toBeNull();
    expect(await reboot.count()).toBe(0);
    expect(await menu.locator(".row-menu-off", { hasText: "Reboot" }).locator("small").count()).toBe(1);
    await menu.getByRole("link", { name: "Start" }).click();
    await page.waitForURL("**/servers/selected?**");
    expect(await page.textContent("h1")).toBe("Start 1 server?");
    await page.click("main form button[type=submit]");
    await page.waitForSelector("h1:text-is('Requested')");
    expect((await world.real.read(`/servers/${id}`)).status).toBe("starting");
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("an unchanged list is not sent again, its times go on, and a change comes with the next poll", async () => {
    await page.goto(`${world.url}/servers`);
    const statuses: number[] = [];
    page.on("response", (response) => {
      if (response.request().headers()["hx-request"] !== undefined) statuses.push(response.status());
    });
    const poll = async () => {
      const answered = page.waitForResponse((response) => new URL(response.url()).pathname === "/servers");
      await page.evaluate("document.querySelector('[data-poll]').dispatchEvent(new CustomEvent('refresh'))");
      return (await answered).status();
    };
    expect(await poll()).toBe(200);
    // At the turn of a minute it is sent once more.
    await expect.poll(poll).toBe(304);
    expect(await page.locator("#stale-banner").isHidden()).toBe(true);
    expect(await page.locator("#server-list tbody tr").count()).toBeGreaterThan(3);

    const age = page.locator(`#${idOf("db-1")} time[data-age]`);
    const threeDaysAgo = new Date(Date.now() - 3 * 86_400_000).toISOString();
    await age.evaluate((time, moment) => time.setAttribute("datetime", moment), threeDaysAgo);
    await expect.poll(() => age.textContent()).toBe("3 days ago");

    await done(world.real.acme.patch(`/servers/${idOf("db-1")}`, { labels: { role: "changed" } }));
    expect(await poll()).toBe(200);
    await page.waitForSelector(`#${idOf("db-1")} >> text=role=changed`);
    expect(statuses.filter((status) => status !== 200 && status !== 304)).toEqual([]);
  });

  test("Escape closes the menu and returns the focus to its button; opening another menu closes it too", async () => {
    const first = page.locator(`#acts-${idOf("app-1")}`);
    // The first row: the menu of another one covers the rows beside it.
    const second = page.locator(".row-menu").first();
    await first.locator("summary").click();
    await second.locator("summary").click();
    expect(await first.getAttribute("open")).toBeNull();
    await second.locator("a").first().focus();
    await page.keyboard.press("Escape");
    expect(await second.getAttribute("open")).toBeNull();
    expect(await second.locator("summary:focus").count()).toBe(1);
  });

  test("on a phone the menus of the first and of the last row are wholly on the screen", async () => {
    const size = { width: 390, height: 844 };
    await page.setViewportSize(size);
    const menus = page.locator(".row-menu");
    for (const menu of [menus.first(), menus.last()]) {
      await menu.locator("summary").click();
      const box = await menu.locator(".menu-body").boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(size.width);
      expect(box?.y).toBeGreaterThan(0);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(size.height);
      // Nothing covers any part of it.
      const links = await menu.locator("a").all();
      for (const link of links) await link.click({ trial: true });
      expect(links.length).toBeGreaterThan(0);
      await page.keyboard.press("Escape");
    }
  });

  test("chosen columns survive refreshes, and choosing them keeps a filter that was just typed", async () => {
    await page.fill("input[name=q]", "app");
    await page.waitForURL("**/servers?q=app**");
    await page.click("#view-servers > summary");
    for (const label of ["Image", "Package", "Region"]) await page.uncheck(`#view-servers >> text=${label}`);
    await page.selectOption("#view-servers select", "50");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers-view");
    await page.click("#view-servers button[data-kind=primary]");
    await page.waitForFunction("!document.querySelector('#server-list thead').textContent.includes('Image')");
    expect(new URL(page.url()).searchParams.get("q")).toBe("app");
    expect(await heads(page)).not.toContain("Package");
    await requestStop("app-2");
    await page.waitForSelector(`#${idOf("app-2")} >> text=stopping`);
    expect(await heads(page)).not.toContain("Package");
    expect(world.api.calls.findLast((call) => call.startsWith("GET /servers?"))).toContain("limit=50");
    await page.goto(`${world.url}/jobs`);
    expect(await page.textContent("#view-jobs option[selected]")).toBe("20");
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("without a script the columns, the order and a row's menu work too", async () => {
    const plain = await openPage(browser, { javaScriptEnabled: false });
    const without = plain.page;
    await signIn(without, world.url);
    await without.click("#view-servers > summary");
    await without.uncheck("#view-servers >> text=Package");
    await without.click("#view-servers button[data-kind=primary]");
    expect(await without.getByRole("columnheader", { name: "Package" }).count()).toBe(0);
    await without.getByRole("columnheader", { name: "Name" }).getByRole("link").click();
    await without.waitForURL("**/servers?sort=name");
    const sorted = without.locator("[aria-sort=ascending]");
    expect(await sorted.textContent()).toContain("Name");
    await without.click(".row-menu >> nth=0 >> summary");
    await without.click(".row-menu[open] >> text=Reboot");
    await without.waitForURL("**/servers/selected?act=reboot**");
    await plain.context.close();
  });
});
