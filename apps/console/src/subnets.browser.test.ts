import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityProblems, signIn, takeScreenshots, type WatchedPage } from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the addresses of a subnet in a browser", { timeout: 120_000 }, () => {
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;
  /** The subnet's page, and its path in the API. */
  let path: string;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ world, watched, page } = panel);
    const { acme, agent } = world.real;
    const { networks, subnets } = world.facts;
    path = `/networks/${networks.shop}/subnets/${subnets.app}`;
    const address = "10.20.0.30";
    const description = "The database that the shop's partners have in their lists";
    await reserve({ name: "primary-db", address, description });
    await reserve({ name: "vip", address: "10.20.0.40" });
    const given = await reserve({ name: "given-up", address: "10.20.0.50" });
    await done(acme.delete(`${path}/reservations/${given.id}`));
    const body = { name: "primary-db", region: "ist1", image: "debian-13", package: "s" };
    await done(acme.post("/servers", { ...body, subnet_id: subnets.app, private_ip: address }));
    await agent.work();
    await signIn(page, world.url);
  });

  const reserve = (body: object) => done(world.real.acme.post(`${path}/reservations`, body));

  test.each(["en", "tr"])("fit desktop and phone, without findings, in %s", async (language) => {
    await page.click(".account > summary");
    await Promise.all([
      page.waitForEvent("framenavigated"),
      page.click(`.account-menu button[value=${language}]`),
    ]);
    await page.goto(world.url + path);
    expect(await page.getAttribute("html", "lang")).toBe(language);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, `subnet-${language}`);
    await page.click(".tabs a[href$='/settings']");
    await page.waitForURL("**/settings");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, `subnet-settings-${language}`);
    await page.goto(world.url + path);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      const bars = await page
        .locator(".stack-bar rect")
        .evaluateAll((rects) => rects.map((rect) => Math.round(rect.getBoundingClientRect().width)));
      expect(bars.length).toBe(4);
      expect(Math.min(...bars)).toBeGreaterThan(0);
    }
  });

  test("are reserved in a form that keeps what was typed, filtered by state, and released", async () => {
    await page.goto(world.url + path);
    await page.click("#add-reservation > summary");
    await page.fill("#add-reservation [name=name]", "next");
    await page.fill("#add-reservation [name=address]", "10.20.0.40");
    await page.click("#add-reservation button[type=submit]");
    await page.waitForSelector("#address-problem");
    expect(await page.inputValue("#add-reservation [name=name]")).toBe("next");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator("#reservations").scrollIntoViewIfNeeded();
    await takeScreenshots(page, "subnet-refused");
    await page.fill("#add-reservation [name=address]", "");
    await page.click("#add-reservation button[type=submit]");
    await page.waitForSelector("#reservations tbody tr:nth-child(3)");
    const reservations = () => world.real.list(`${path}/reservations`);
    const next = (await reservations()).find(({ name }) => name === "next");
    // The lowest free one.
    expect(next.address).toBe("10.20.0.2");
    expect(await page.textContent(`#${next.id}`)).toContain("10.20.0.2");
    await page.click("#addresses .tabs a[href*='state=reserved']");
    await page.waitForSelector("#addresses .tabs a[aria-current][href*='state=reserved']");
    expect(await page.locator("#addresses tbody tr").count()).toBe(2);
    await page.click(`#${next.id} .row-act button`);
    await page.waitForSelector(".banner[data-kind=notice] >> text=The reservation is deleted");
    expect(new Set((await reservations()).map(({ name }) => name))).toEqual(new Set(["primary-db", "vip"]));
    expect(watched.complaints).toEqual([expect.stringContaining("409 (Conflict)")]);
  });

  test("a button re-applies a firewall to its servers", async () => {
    const { acme, agent } = world.real;
    const { firewall } = await done(
      acme.post("/firewalls", {
        name: "web",
        region: "ist1",
        rules: [{ protocol: "tcp", ports: ["443"], peers: [{ any: true }] }],
      }),
    );
    const target = { subnet_id: world.facts.subnets.app };
    const { job_ids: attaching } = await done(acme.post(`/firewalls/${firewall.id}/attachments`, target));
    for (const _job of attaching) await agent.fail(await agent.take("FirewallApply"), "unreachable");
    await page.goto(`${world.url}/firewalls/${firewall.id}`);
    expect(await page.locator("#attachments tbody tr[data-tone=bad]").count()).toBe(1);
    await page.locator("#attachments").scrollIntoViewIfNeeded();
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall-apply");
    await page.click("#apply button");
    await page.waitForSelector(".banner[data-kind=notice]");
    const queued = await world.real.list("/jobs?status=queued");
    expect(queued.map(({ kind }) => kind)).toEqual(attaching.map(() => "FirewallApply"));
    await agent.work();
    await page.reload();
    expect(await page.locator("#attachments tbody tr[data-tone=good]").count()).toBe(1);
    expect(watched.complaints).toEqual([]);
  });
});
