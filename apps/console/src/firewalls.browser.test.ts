import type { Schemas } from "@kule/contract/schemas";
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

describe.skipIf(part.missing)("firewalls in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, (panel) => {
    ({ browser, world, watched, page } = panel);
  });

  /** @returns its id */
  async function createFirewall(body: object): Promise<string> {
    return (await done(world.real.acme.post("/firewalls", { region: "ist1", ...body }))).firewall.id;
  }

  for (const [language, locale, width] of [
    ["English", "en-GB", 1360],
    ["Turkish", "tr-TR", 390],
  ] as const)
    test(`one is chosen for a server before there is one, in ${language}`, async () => {
      await watched.context.close();
      watched = await openPage(browser, { locale });
      page = watched.page;
      page.setDefaultTimeout(25_000);
      await page.setViewportSize({ width, height: 844 });
      await signIn(page, world.url);
      await page.goto(`${world.url}/servers/new`);
      // Without any firewall the form explains what one is for, and links to the create form.
      expect(await page.getAttribute("#firewalls .hint a", "href")).toBe("/firewalls/new");
      expect(await accessibilityProblems(page)).toEqual([]);
      const subnet = world.facts.subnets.app ?? "";
      const web = await createFirewall({
        name: "web",
        description: "What the shop lets in",
        rules: [{ protocol: "tcp", ports: ["443"], peers: [{ any: true }] }],
      });
      const away = await createFirewall({ name: "away", region: "ank1" });
      await page.goto(`${world.url}/servers/new`);
      await page.fill("input[name=name]", "walled");
      await page.selectOption("#field-subnet_id", subnet);
      await page.waitForSelector("#check-result .ready");
      expect(await page.locator("#firewalls input[type=checkbox]").count()).toBe(1);
      await page.check(`#firewall-${web}`);
      await page.waitForSelector("#create-summary dd >> text=web");
      await page.waitForSelector("#check-result .ready");
      expect(await page.textContent("#create-call")).toContain(web);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, `create-firewalls-${language}`);
      await page.setViewportSize({ width, height: 844 });
      // Another region has other firewalls.
      await page.check("#region-ank1");
      await page.waitForSelector(`#firewall-${away}`);
      expect(await page.locator("#create-summary dd >> text=web").count()).toBe(0);
      await page.check("#region-ist1");
      await page.selectOption("#field-subnet_id", subnet);
      await page.check(`#firewall-${web}`);
      await page.waitForSelector("#create-summary dd >> text=web");
      await page.waitForSelector("#check-result .ready");
      await page.click("#create-summary button[value=create]");
      await page.waitForURL(/\/servers\/srv_/);
      const walled = new URL(page.url()).pathname.split("/")[2];
      expect(await world.real.read(`/servers/${walled}`)).toMatchObject({
        name: "walled",
        firewall_ids: [web],
      });
      await page.click(".tabs a[href$='/network']");
      await page.waitForSelector(`#firewalls a[href='/firewalls/${web}']`);
      expect(watched.complaints).toEqual([]);
    });

  test("a firewall that is deleted while a server's form is filled in is an error at the choice", async () => {
    const web = await createFirewall({ name: "web" });
    await signIn(page, world.url);
    await page.goto(`${world.url}/servers/new`);
    await page.fill("input[name=name]", "walled");
    await page.selectOption("#field-subnet_id", world.facts.subnets.app ?? "");
    await page.check(`#firewall-${web}`);
    await page.waitForSelector("#create-summary dd >> text=web");
    await page.waitForSelector("#check-result .ready");
    await done(world.real.acme.delete(`/firewalls/${web}`));
    await page.click("#create-summary button[value=create]");
    await page.waitForSelector("#firewalls #firewall_ids-problem");
    expect(await page.inputValue("input[name=name]")).toBe("walled");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });

  /** A firewall with rules of every kind, attached in every way: applied and on its way. */
  async function seedFirewall(): Promise<string> {
    const { acme, agent } = world.real;
    const { servers, subnets } = world.facts;
    const office = await createFirewall({ name: "office", description: "who may manage" });
    const web = await createFirewall({
      name: "web",
      description: "What the shop lets in",
      rules: [
        { protocol: "tcp", ports: ["80", "443"], peers: [{ any: true }], description: "The shop" },
        {
          protocol: "tcp",
          ports: ["22"],
          peers: [{ cidr: "192.0.2.0/24" }, { firewall_id: office }],
          priority: 500,
          description: "Administrators",
        },
        {
          protocol: "any",
          peers: [{ subnet_id: subnets.app }, { label_selector: "role=worker" }],
          priority: 1200,
        },
        {
          action: "deny",
          protocol: "udp",
          peers: [{ any: true }],
          enabled: false,
          description: "Not used yet",
        },
        {
          direction: "out",
          action: "deny",
          protocol: "tcp",
          ports: ["25"],
          peers: [{ any: true }],
          description: "No mail",
        },
      ],
    });
    const attach = (target: object) => done(acme.post(`/firewalls/${web}/attachments`, target));
    await attach({ server_id: servers["app-1"] });
    await agent.work();
    await attach({ subnet_id: subnets.app });
    await attach({ label_selector: "role=web" });
    return web;
  }

  test("rules are added, changed, moved and removed as one form, and saved together", async () => {
    const id = await seedFirewall();
    await signIn(page, world.url);
    await page.goto(`${world.url}/firewalls`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewalls");
    await page.goto(`${world.url}/firewalls/new`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall-create");
    await page.goto(`${world.url}/firewalls/${id}/settings`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall-settings");
    await page.goto(`${world.url}/firewalls/${id}`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall");
    await page.click(".page-acts a[href$='/rules']");
    await page.waitForSelector("#rules-form");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall-rules");

    await page.click("#add-rule");
    await page.waitForSelector("#rule-5-protocol");
    expect(await page.evaluate("document.activeElement.id")).toBe("rule-5-protocol");
    await page.fill("#rule-5-ports", "22, 99999");
    await page.selectOption("#rule-5-peer-0", "cidr");
    await page.fill("input[name=rule-5-peer-0-text]", "192.0.2.300");
    await page.click(".rule-save button");
    await page.waitForSelector("#rule-5-ports-problem");
    await page.waitForSelector("#rule-5-peer-0-problem");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall-rules-refused");
    await page.fill("#rule-5-ports", "5432");
    await page.fill("input[name=rule-5-peer-0-text]", "192.0.2.7/32");
    await page.click("#rule-2-up");
    await expect.poll(() => page.inputValue("#rule-1-ports")).toBe("80, 443");
    expect(await page.evaluate("document.activeElement.id")).toBe("rule-1-up");
    // A deny rule precedes an allow rule of the same priority, so its priority had to change.
    expect(await page.inputValue("#rule-2-priority")).toBe("1001");
    // Unsaved input is kept.
    expect(await page.inputValue("#rule-5-ports")).toBe("5432");
    await page.click("tbody:has(#rule-2-ports) .rule-remove button");
    await expect.poll(() => page.locator(".rule-editor tbody").count()).toBe(5);
    await page.click(".rule-save button");
    await page.waitForSelector("text=The rules are saved");
    const saved: Schemas["Firewall"] = await world.real.read(`/firewalls/${id}`);
    expect(saved.rules.map(({ direction, ports, priority }) => [direction, ports.join(), priority])).toEqual([
      ["in", "22", 500],
      ["in", "80,443", 1000],
      ["in", "", 1200],
      ["out", "25", 1000],
      ["in", "5432", 1200],
    ]);
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });

  test("a test is answered in place, and names the deciding rule", async () => {
    const id = await seedFirewall();
    await signIn(page, world.url);
    await page.goto(`${world.url}/firewalls/${id}`);
    await page.selectOption("#test-from", "address");
    await page.selectOption("#test-to", world.facts.servers["app-1"] ?? "");
    await page.fill("input[name=from_address]", "198.51.100.7");
    await page.fill("#test-port", "443");
    await page.click("#test button[type=submit]");
    await page.waitForSelector(".verdict[data-verdict=allowed]");
    expect(await page.textContent(".verdict")).toContain("The shop");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator("#test").scrollIntoViewIfNeeded();
    await takeScreenshots(page, "firewall-test");
    await page.fill("#test-port", "22");
    await page.click("#test button[type=submit]");
    await page.waitForSelector(".verdict[data-verdict=denied]");
    expect(new URL(page.url()).searchParams.get("port")).toBe("22");
    await page.fill("input[name=from_address]", "nonsense");
    await page.click("#test button[type=submit]");
    await page.waitForSelector("#test-from-problem");
    expect(watched.complaints).toEqual([]);
  });

  test("a server's page shows its firewalls, and attaches another", async () => {
    await seedFirewall();
    await signIn(page, world.url);
    await page.goto(`${world.url}/servers/${world.facts.servers["app-1"]}/network`);
    expect(await page.locator("#firewalls .address-row").count()).toBe(3);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator("#firewalls").scrollIntoViewIfNeeded();
    await takeScreenshots(page, "server-firewalls");
    await page.click("#firewalls .label-row button[type=submit]");
    await page.waitForSelector("text=The firewall is attached");
    expect(await page.locator("#firewalls .address-row").count()).toBe(4);
    expect(watched.complaints).toEqual([]);
  });
});
