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

type Edges = { readonly left: number; readonly right: number };

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the map of a network in a browser", { timeout: 120_000 }, () => {
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;
  let path: string;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ world, watched, page } = panel);
    path = `${world.url}/networks/${world.facts.networks.shop}`;
    await signIn(page, world.url);
  });

  test.each(["en", "tr"])(
    "every text of the map is inside of the drawing and its box in %s, on desktop and phone",
    async (language) => {
      await page.click(".account > summary");
      await Promise.all([
        page.waitForEvent("framenavigated"),
        page.click(`.account-menu button[value=${language}]`),
      ]);
      await page.goto(path);
      expect(await page.getAttribute("html", "lang")).toBe(language);
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, `network-map-${language}`);
      for (const [width, size] of [
        [1360, "wide"],
        [390, "narrow"],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.locator(".map:visible").count()).toBe(1);
        const outside = await page.locator(`.map[data-size=${size}]`).evaluate((map) => {
          const around = map.getBoundingClientRect();
          const isIn = (inner: Edges, outer: Edges) =>
            inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
          return [...map.querySelectorAll("text")]
            .filter((text) => {
              const box = text.closest(".map-subnet")?.querySelector(".map-box")?.getBoundingClientRect();
              return !isIn(text.getBoundingClientRect(), box ?? around);
            })
            .map((text) => text.textContent);
        });
        expect(outside).toEqual([]);
        // The font size is that of the page's small text, or nearly.
        const letters = await page
          .locator(`.map[data-size=${size}] .map-name`)
          .first()
          .evaluate((text) => text.getBoundingClientRect().height);
        expect(letters).toBeGreaterThan(11);
        expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
        // The menu's words are complete, and none overlaps another.
        const cut = await page.locator(".sections a").evaluateAll((links) => {
          const words = links.map((link) => {
            const range = link.ownerDocument.createRange();
            range.selectNodeContents(link.querySelector("span") ?? link);
            return { own: link.getBoundingClientRect(), text: range.getBoundingClientRect() };
          });
          return words.filter(({ own, text }) => text.left < own.left || text.right > own.right).length;
        });
        expect(cut).toBe(0);
      }
    },
  );

  test("the map follows changes without a reload, and links to servers", async () => {
    await page.goto(path);
    await page.waitForSelector(".map[data-size=wide] .map-internet");
    const { acme, agent } = world.real;
    const { networks, subnets } = world.facts;
    const body = { name: "out", network_id: networks.shop, subnet_ids: [subnets.app] };
    await done(acme.post("/gateways", body));
    await agent.work();
    await page.waitForSelector(".map[data-size=wide] .map-gateway");
    expect(await page.locator(".map[data-size=wide] .map-wires [data-out]").count()).toBe(1);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "network-map-gateway");
    await page.focus(".map[data-size=wide] .map-server");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/servers\/srv_/);
    expect(watched.complaints).toEqual([]);
  });

  test("a reachability check is answered in place, as text", async () => {
    await page.goto(path);
    await page.selectOption("#explain-to", "address");
    await page.fill("input[name=to_address]", "198.51.100.7");
    await page.click("#explain button[type=submit]");
    await page.waitForSelector(".verdict[data-verdict=denied]");
    expect(await page.textContent(".verdict")).toContain("The network has no gateway");
    expect(await page.locator(".way li").count()).toBe(2);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator("#explain").scrollIntoViewIfNeeded();
    await takeScreenshots(page, "network-explain");
    expect(new URL(page.url()).searchParams.get("to_address")).toBe("198.51.100.7");
    expect(watched.complaints).toEqual([]);
  });
});
