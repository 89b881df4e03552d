import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { openBrowser, openPage, type WatchedPage } from "./browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./console-world.ts";

export type PanelInBrowser = {
  readonly browser: Browser;
  readonly world: ConsoleWorld;
  readonly watched: WatchedPage;
  readonly page: Page;
};

/**
 * A browser for the tests of a suite; each test has a panel of its own with a fake API, and a blank page. Contexts
 * that a test opens beside it are closed with it.
 *
 * @param timeoutMs the page's timeout for the conditions that a test waits for
 * @param prepare receives the panel and the page, seeds the API and signs in
 */
export function panelInBrowser(
  timeoutMs: number,
  prepare: (panel: PanelInBrowser) => void | Promise<void>,
): void {
  let browser: Browser;
  let world: ConsoleWorld;
  beforeAll(async () => {
    browser = await openBrowser();
  }, 60_000);
  afterAll(() => browser?.close());
  beforeEach(async () => {
    world = await startConsoleWorld({ listen: true });
    const watched = await openPage(browser);
    watched.page.setDefaultTimeout(timeoutMs);
    await prepare({ browser, world, watched, page: watched.page });
  }, 60_000);
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await world.stop();
    expect(world.api.defects).toEqual([]);
  });
}
