import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { signIn } from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { servers } from "./testing/scenes/servers.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("a notice above a page", { timeout: 120_000 }, () => {
  let world: PanelWorld<FactsOf<typeof servers>>;
  let page: Page;

  sceneInBrowser(servers, 25_000, (panel) => {
    ({ world, page } = panel);
  });

  const refresh = () =>
    page.evaluate("document.querySelector('[data-poll]').dispatchEvent(new CustomEvent('refresh'))");

  test("stays while its job is open, and is removed when the job has ended, also after a reload", async () => {
    await signIn(page, world.url);
    const id = world.facts.servers["web-1"];
    await done(world.real.acme.post(`/servers/${id}/power`, { action: "stop" }));
    await page.goto(`${world.url}/servers/${id}?notice=power`);
    const notice = page.locator("main > .banner[data-kind=notice]");
    await page.waitForSelector("#resource-live[data-htmx-powered]");
    const asked = world.api.calls.length;
    await refresh();
    await expect.poll(() => world.api.calls.length).toBeGreaterThan(asked);
    expect(await notice.textContent()).toContain("The power action is on its way.");
    await world.real.agent.work();
    await refresh();
    await notice.waitFor({ state: "detached" });
    expect(page.url()).toBe(`${world.url}/servers/${id}`);
  });

  test("a link to a form focuses its first field", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/networks`);
    await page.locator("main a[href='/networks/new']").first().click();
    await page.waitForURL("**/networks/new");
    const name = page.locator("form[action='/networks/new'] input[name=name]");
    // The page is there when its address is: the field has the focus when it has been drawn.
    await page.locator("form[action='/networks/new'] input[name=name]:focus").waitFor();
    await page.keyboard.type("between");
    expect(await name.inputValue()).toBe("between");
  });
});
