import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openBrowser, openPage, type WatchedPage } from "./browser.ts";
import { type PanelWorld, startPanelWorld } from "./panel-world.ts";
import type { People } from "./scenes/people.ts";
import type { Scene } from "./scenes/scene.ts";

export type SceneInBrowser<Facts extends People> = {
  readonly browser: Browser;
  readonly world: PanelWorld<Facts>;
  readonly watched: WatchedPage;
  readonly page: Page;
};

/**
 * A browser for the tests of a suite; each test has a panel of its own before the real API, with everything as the
 * scene has it, and a blank page. Contexts that a test opens beside it are closed with it.
 *
 * @param timeoutMs the page's timeout for the conditions that a test waits for
 * @param prepare receives the panel and the page, changes the scene and signs in
 */
export function sceneInBrowser<Facts extends People>(
  scene: Scene<Facts>,
  timeoutMs: number,
  prepare: (panel: SceneInBrowser<Facts>) => void | Promise<void>,
): void {
  let browser: Browser;
  let world: PanelWorld<Facts> | undefined;
  beforeAll(async () => {
    browser = await openBrowser();
    // The first file of a run seeds the scene, which takes a busy machine longer than a test may.
    await scene.template();
  }, 240_000);
  afterAll(() => browser?.close());
  beforeEach(async () => {
    const started = await startPanelWorld(scene, { listen: true });
    world = started;
    const watched = await openPage(browser);
    watched.page.setDefaultTimeout(timeoutMs);
    await prepare({ browser, world: started, watched, page: watched.page });
  }, 60_000);
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await world?.stop();
    world = undefined;
  });
}
