import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { signIn } from "./testing/browser.ts";
import type { ConsoleWorld } from "./testing/console-world.ts";
import { panelInBrowser } from "./testing/panel-in-browser.ts";
import { seedNetworks } from "./testing/seed-networks.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("a notice above a page", { timeout: 120_000 }, () => {
  let world: ConsoleWorld;
  let page: Page;

  panelInBrowser(25_000, (panel) => {
    ({ world, page } = panel);
    seedNetworks(world.api.state);
  });

  const refresh = () =>
    page.evaluate("document.querySelector('[data-poll]').dispatchEvent(new CustomEvent('refresh'))");

  test("stays while its job is open, and is removed when the job has ended, also after a reload", async () => {
    await signIn(page, world.url);
    const { state } = world.api;
    const id = state.servers[0]?.id ?? "";
    state.changeServer(id, { status: "stopping" });
    await page.goto(`${world.url}/servers/${id}?notice=power`);
    const notice = page.locator("main > .banner[data-kind=notice]");
    await page.waitForSelector("#resource-live[data-htmx-powered]");
    const asked = world.api.calls.length;
    await refresh();
    await expect.poll(() => world.api.calls.length).toBeGreaterThan(asked);
    expect(await notice.textContent()).toContain("The power action is on its way.");
    state.changeServer(id, { status: "stopped" });
    await refresh();
    await notice.waitFor({ state: "detached" });
    expect(page.url()).toBe(`${world.url}/servers/${id}`);
  });

  test("a link to a form focuses its first field", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/networks`);
    await page.locator("main a[href='/networks/new']").first().click();
    await page.waitForURL("**/networks/new");
    await page.keyboard.type("between");
    expect(await page.inputValue("form[action='/networks/new'] input[name=name]")).toBe("between");
  });
});
