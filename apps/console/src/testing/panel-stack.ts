import { type RegionWorld, startRegionWorld, type WorldOptions } from "@kule/testing/region-world";
import type { Browser, Page } from "playwright-core";
import { expect, vi } from "vitest";
import { openBrowser, openPage, type WatchedPage } from "./browser.ts";

/** A whole Kule: panel, API, worker, agent and lab as separate processes, and a browser. */
export type PanelStack = {
  readonly world: RegionWorld;
  readonly url: string;
  /** A browser with a signed-in user; operators act in the only organisation. */
  signIn(who: keyof RegionWorld["users"], options?: Parameters<typeof openPage>[1]): Promise<Signed>;
  /** A manual change at the hypervisor. */
  changeOutsideKule(what: string, ...args: readonly unknown[]): Promise<void>;
  end(): Promise<void>;
};

export type Signed = WatchedPage & {
  /** Opens a path of the panel. */
  open(path: string): Promise<void>;
};

export async function startPanelStack(options: WorldOptions = {}): Promise<PanelStack> {
  const world = await startRegionWorld({ leaseSeconds: 10, removalBufferSeconds: 3600, ...options });
  let browser: Browser | undefined;
  try {
    world.startAgent({ KULE_AGENT_INVENTORY_SECONDS: "1", KULE_AGENT_HEALTH_SECONDS: "1" });
    const panel = await world.startPanel();
    // The region's images are in its agent's first report.
    const images = async () =>
      (await world.organisation.GET("/catalog", {})).data?.images.filter(({ regions }) => regions.length > 0)
        .length;
    await vi.waitUntil(images, { timeout: 60_000, interval: 200 });
    const opened = await openBrowser();
    browser = opened;
    return {
      world,
      url: panel.url,
      async signIn(who, options) {
        const watched = await openPage(opened, options);
        const { page } = watched;
        page.setDefaultTimeout(40_000);
        const { email, password } = world.users[who];
        await page.goto(`${panel.url}/sign-in`);
        await page.fill("input[name=email]", email);
        await page.fill("input[name=password]", password);
        await page.click(".sign-in-card button[type=submit]");
        await page.waitForURL(/\/(servers|operator)$/);
        if (who === "operator") {
          await page.goto(`${panel.url}/organisations`);
          await page.click(".row-acts button");
          await page.waitForURL("**/servers");
        }
        return {
          ...watched,
          async open(path) {
            await page.goto(panel.url + path);
          },
        };
      },
      async changeOutsideKule(what, ...args) {
        const answer = await fetch(`${world.labControlUrl}/world`, {
          method: "POST",
          body: JSON.stringify({ do: what, args }),
        });
        if (!answer.ok) throw new Error(await answer.text());
      },
      async end() {
        await opened.close();
        await world.end();
      },
    };
  } catch (error) {
    await browser?.close();
    await world.end();
    throw error;
  }
}

/**
 * Presses the button that sends a form, and waits for the page that answers: until then the previous page can still be
 * read.
 */
export async function send(page: Page, button: string): Promise<void> {
  await Promise.all([page.waitForEvent("framenavigated"), page.click(button)]);
  await page.waitForLoadState();
}

/** Waits for the status beside a server's name, which updates by itself: nothing here reloads the page. */
export async function seesStatus(page: Page, status: string): Promise<void> {
  await page.waitForSelector(`.title-line .status >> text="${status}"`);
  // Most actions wait for the previous job; the page with the next status may still have an open one.
  await expect
    .poll(() => page.locator(".panel .status[data-tone=busy]").count(), { timeout: 40_000, interval: 200 })
    .toBe(0);
}

/** The id in the address of a server's page. */
export function serverIdOf(page: Page): string {
  const id = /\/servers\/(srv_[a-z0-9]+)/.exec(page.url())?.[1];
  if (id === undefined) throw new Error(`${page.url()} is not a server's page`);
  return id;
}
