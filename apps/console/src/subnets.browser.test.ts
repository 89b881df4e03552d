import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityProblems, signIn, takeScreenshots, type WatchedPage } from "./testing/browser.ts";
import type { ConsoleWorld } from "./testing/console-world.ts";
import { fakeAttachment, fakeFirewall } from "./testing/fake-firewalls.ts";
import { fakeReservation } from "./testing/fake-reservations.ts";
import { panelInBrowser } from "./testing/panel-in-browser.ts";
import { seedNetworks } from "./testing/seed-networks.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the addresses of a subnet in a browser", { timeout: 120_000 }, () => {
  let world: ConsoleWorld;
  let watched: WatchedPage;
  let page: Page;
  let path: string;

  panelInBrowser(25_000, async (panel) => {
    ({ world, watched, page } = panel);
    seedNetworks(world.api.state);
    const [subnet] = world.api.state.subnets;
    if (subnet === undefined) throw new Error("no subnet");
    const { state } = world.api;
    const kept = fakeReservation(subnet, {
      name: "primary-db",
      address: "10.20.0.10",
      description: "The database that the shop's partners have in their lists",
    });
    const [server] = state.servers;
    if (server === undefined) throw new Error("no server");
    Object.assign(kept, { state: "used", server: { id: server.id, name: server.name } });
    state.reservations.push(kept, fakeReservation(subnet, { name: "vip", address: "10.20.0.40" }));
    state.quarantinedAddresses.push({ subnetId: subnet.id, address: "10.20.0.50" });
    subnet.usage = {
      addresses_total: 253,
      addresses_used: 41,
      addresses_quarantined: 12,
      addresses_reserved: 24,
      addresses_free: 188,
    };
    path = `${world.url}/networks/${subnet.network_id}/subnets/${subnet.id}`;
    await signIn(page, world.url);
  });

  test.each(["en", "tr"])("fit desktop and phone, without findings, in %s", async (language) => {
    await page.click(".account > summary");
    await Promise.all([
      page.waitForEvent("framenavigated"),
      page.click(`.account-menu button[value=${language}]`),
    ]);
    await page.goto(path);
    expect(await page.getAttribute("html", "lang")).toBe(language);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, `subnet-${language}`);
    await page.click(".tabs a[href$='/settings']");
    await page.waitForURL("**/settings");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, `subnet-settings-${language}`);
    await page.goto(path);
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
    await page.goto(path);
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
    expect(await page.textContent("#reservations")).toContain("10.20.0.2");
    await page.click("#addresses .tabs a[href*='state=reserved']");
    await page.waitForSelector("#addresses .tabs a[aria-current][href*='state=reserved']");
    expect(await page.locator("#addresses tbody tr").count()).toBe(2);
    await page.click("#reservations tbody tr:nth-child(3) .row-act button");
    await page.waitForSelector(".banner[data-kind=notice]");
    expect(world.api.state.reservations.map(({ name }) => name)).toEqual(["primary-db", "vip"]);
    expect(watched.complaints).toEqual([expect.stringContaining("409 (Conflict)")]);
  });

  test("a button re-applies a firewall to its servers", async () => {
    const { state } = world.api;
    const firewall = fakeFirewall({
      name: "web",
      rules: [{ protocol: "tcp", ports: ["443"], peers: [{ any: true }] }],
    });
    const attachment = fakeAttachment(state, { subnet_id: state.subnets[0]?.id ?? "" });
    firewall.attachments.push({ ...attachment, status: "failed" });
    state.firewalls.push(firewall);
    await page.goto(`${world.url}/firewalls/${firewall.id}`);
    await page.locator("#attachments").scrollIntoViewIfNeeded();
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "firewall-apply");
    await page.click("#apply button");
    await page.waitForSelector(".banner[data-kind=notice]");
    expect(state.jobs.map(({ kind }) => kind)).toEqual(Array(3).fill("FirewallApply"));
    expect(watched.complaints).toEqual([]);
  });
});
