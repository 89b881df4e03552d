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
import type { FactsOf } from "./testing/scenes/scene.ts";
import { servers } from "./testing/scenes/servers.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("a server's actions in a browser", { timeout: 180_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof servers>>;
  let watched: WatchedPage;
  let page: Page;
  /** The server's page, and its path in the API. */
  let path: string;

  sceneInBrowser(servers, 30_000, async (panel) => {
    ({ browser, world, watched, page } = panel);
    path = `/servers/${world.facts.servers["web-1"]}`;
    await label("prod");
  });

  async function open(options?: Parameters<typeof openPage>[1]): Promise<void> {
    if (options !== undefined) {
      watched = await openPage(browser, options);
      page = watched.page;
      page.setDefaultTimeout(30_000);
    }
    await signIn(page, world.url);
    await page.goto(world.url + path);
  }
  const server = () => world.real.read(path);
  const label = (env: string) => done(world.real.acme.patch(path, { labels: { env } }));
  /** The page polls the server's part of it at once. */
  const refresh = () =>
    page.evaluate(`document.getElementById("resource-live").dispatchEvent(new CustomEvent("refresh"))`);
  const openTab = async (tab: "network" | "settings") => {
    await page.click(`.tabs a[href$='/${tab}']`);
    await page.waitForSelector(`.tabs a[href$='/${tab}'][aria-current]`);
  };

  test("a name, labels, an address, power and size are changed, with axe content on the way", async () => {
    const { acme, agent, operator } = world.real;
    await done(acme.post("/public-ips", { region: "ist1", address: "203.0.113.10" }));
    const limits = { vcpu: 12 };
    await done(operator.put(`/organisations/${world.facts.acme.id}/quotas`, { limits }));
    await open();
    await page.click("#power > summary");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-power");
    await openTab("settings");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-settings");
    await page.fill("#labels--key", "bad key");
    await page.click("#labels form:last-of-type button");
    await page.waitForSelector("#labels--key-problem");
    expect(await accessibilityProblems(page)).toEqual([]);
    // The page around it polls and changes; input and errors are kept.
    await label("test");
    await refresh();
    await expect.poll(() => page.inputValue("#labels-env"), { timeout: 30_000 }).toBe("test");
    expect(await page.inputValue("#labels--key")).toBe("bad key");
    expect(await page.locator("#labels--key-problem").count()).toBe(1);
    await page.fill("#labels--key", "role");
    await page.fill("#labels--value", "web");
    await page.click("#labels form:last-of-type button");
    await page.waitForSelector("text=The label is set");
    expect((await server()).labels).toEqual({ env: "test", role: "web" });

    await openTab("network");
    await page.click("#public-ips form[action$='/attach-address'] button");
    await page.waitForSelector("#public-ips >> text=203.0.113.10");
    await agent.work();
    await refresh();
    await page.waitForSelector("#power button[value=reboot]:enabled", { state: "attached" });
    await page.click("#power > summary");
    expect(await page.isDisabled("#power button[value=start]")).toBe(true);
    expect(await page.textContent("#power-start")).toContain("running already");
    await page.click("#power button[value=reboot]");
    await page.waitForSelector(".title-line .status >> text=rebooting");
    await agent.work();
    await refresh();
    await page.waitForSelector(".title-line .status[data-tone=good] >> text=running");

    await page.click("a[href$='/resize']");
    await page.check("#package-xxxl");
    await page.waitForSelector("#check-result .blockers");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "resize-blocked");
    await page.check("#package-l");
    await page.waitForSelector("#check-result .ready");
    await page.check("#disk-keep");
    await page.waitForSelector("#resize-summary tr:not([data-changed]) >> text=80 GB");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "resize");
    await page.click("#resize-summary button[value=resize]");
    await page.waitForSelector("text=The server is being resized");
    await agent.work();
    expect(await server()).toMatchObject({ package: { slug: "l" }, disk_gb: 80 });
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });

  test("the power menu closes when the focus or a click goes elsewhere, and covers nothing on a phone", async () => {
    await open();
    const isOpen = () => page.evaluate(`document.getElementById("power").open`);
    const press = () => page.click("#power > summary");
    await press();
    await page.click("#power-start");
    expect(await isOpen()).toBe(true);
    await page.click("h1");
    expect(await isOpen()).toBe(false);
    await press();
    await page.keyboard.press("Escape");
    expect(await isOpen()).toBe(false);
    expect(await page.evaluate("document.activeElement.parentElement.id")).toBe("power");
    await press();
    await page.keyboard.press("Shift+Tab");
    expect(await isOpen()).toBe(false);
    // A change of the server's status does not close it.
    await press();
    await label("test");
    await refresh();
    await page.waitForSelector(".facts .tag >> text=env=test");
    expect(await isOpen()).toBe(true);
    await page.setViewportSize({ width: 390, height: 844 });
    const overlap = `(() => {
      const menu = document.querySelector("#power .menu-body").getBoundingClientRect();
      const tabs = document.querySelector(".tabs").getBoundingClientRect();
      return tabs.top < menu.bottom && tabs.bottom > menu.top;
    })()`;
    expect(await page.evaluate(overlap)).toBe(false);
    await openTab("settings");
    await page.waitForSelector("#rename input[name=name]");
  });

  test("a deleted server does not stay on its page in its last state", async () => {
    await open();
    await done(world.real.acme.delete(`${path}?purge=true`));
    await world.real.agent.work();
    await refresh();
    await page.waitForURL("**/servers?notice=gone");
    await page.waitForSelector("text=The server is destroyed");
  });

  test("without JavaScript and in Turkish every action works by its form", async () => {
    const { agent } = world.real;
    await open({ javaScriptEnabled: false, locale: "tr-TR" });
    await openTab("settings");
    await page.fill("#field-name", "web-9");
    await page.click("#rename button[type=submit]");
    await page.waitForSelector("text=Sunucunun adı değişti");
    await agent.work();
    await page.goto(`${world.url}${path}/resize`);
    await page.check("#package-xl");
    await page.click(".without-script[value=check]");
    await page.waitForSelector("#check-result .ready");
    await page.click("#resize-summary button[value=resize]");
    await page.waitForSelector("text=Sunucu yeniden boyutlandırılıyor");
    await agent.work();
    await openTab("settings");
    await page.selectOption("#rebuild-image", "debian-13");
    await page.fill("#rebuild-name", "web-8");
    await page.click("#rebuild button[type=submit]");
    await page.waitForSelector("#rebuild-name-problem");
    expect(await page.inputValue("#rebuild-image")).toBe("debian-13");
    await page.fill("#rebuild-name", "web-9");
    await page.click("#rebuild button[type=submit]");
    expect(await page.textContent("#console-password")).toMatch(/^[A-Za-z2-9]{20}$/);
    await agent.work();
    await page.goto(`${world.url}${path}/settings`);
    await page.fill("#confirm-name", "web-9");
    await page.click("#delete button[type=submit]");
    await page.waitForSelector(".pending time");
    await agent.work();
    await page.goto(`${world.url}${path}/settings`);
    await page.click(".pending .confirm > summary");
    await page.fill("#purge-name", "web-9");
    await page.click("#purge button[type=submit]");
    await page.waitForSelector("text=Sunucu yok ediliyor");
    expect((await server()).status).toBe("deleting");
  });

  test("the removal buffer counts down and can be ended early, without a finding of axe", async () => {
    await open({ locale: "tr-TR" });
    await openTab("settings");
    await page.fill("#confirm-name", "web-1");
    await page.click("#delete button[type=submit]");
    await page.waitForSelector(".pending time");
    await page.click(".pending .confirm > summary");
    expect(await page.isDisabled("#purge button[type=submit]")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-purge-turkish");
    for (const path of ["/public-ips", "/ssh-keys", "/usage/segments", "/servers?labels=a+b"]) {
      await page.goto(world.url + path);
      expect(await accessibilityProblems(page), path).toEqual([]);
      await takeScreenshots(page, `turkish-${path.replace(/\W+/g, "-")}`);
    }
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });
});
