import { probeChromium } from "@kule/testing/chromium";
import { type LivingWorld, startLivingWorld } from "@kule/testing/living-world";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  openBrowser,
  openPage,
  signInAs,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);
/** Nine processes start, also on a slow machine. */
const slowly = { timeout: 60_000 };

describe.skipIf(part.missing)("consoles of living machines in a browser", { timeout: 240_000 }, () => {
  let world: LivingWorld;
  let browser: Browser;
  let person: { readonly email: string; readonly password: string };
  let linux: { readonly id: string; readonly password: string };
  let windows: { readonly id: string; readonly password: string };
  const watched: WatchedPage[] = [];

  beforeAll(async () => {
    world = await startLivingWorld();
    browser = await openBrowser();
    person = await world.addPerson("Ada");
    // By then the agent has reported its public key, to which the password of a Windows server is sealed.
    linux = await create("web-1");
    windows = await create("win-1", { image: "windows-2022", package: "l" });
  }, 240_000);
  afterEach(async () => {
    for (const { context } of watched.splice(0)) await context.close();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  async function create(name: string, more: Parameters<LivingWorld["region"]["createServer"]>[2] = {}) {
    const { server, job, console_password } = await world.region.createServer(name, undefined, more);
    expect((await world.region.untilDone(job.id)).status).toBe("succeeded");
    return { id: server.id, password: console_password ?? "" };
  }

  async function signedIn(options: Parameters<typeof openPage>[1] = {}): Promise<WatchedPage> {
    const opened = await openPage(browser, options);
    watched.push(opened);
    opened.page.setDefaultTimeout(slowly.timeout);
    await signInAs(opened.page, world.url, person.email, person.password);
    await opened.page.waitForURL("**/servers");
    return opened;
  }

  async function openConsole(id: string, options: Parameters<typeof openPage>[1] = {}): Promise<Page> {
    const { page } = await signedIn(options);
    await page.goto(`${world.url}/servers/${id}/console`);
    await untilState(page, "open");
    return page;
  }

  const untilState = (page: Page, state: "again" | "open" | "closed") =>
    page.waitForSelector(`#console-state[data-state=${state}]`);
  /** The text of the terminal, line by line; its spaces are no-break spaces. */
  const linesOf = (page: Page): Promise<string> =>
    page
      .locator(".xterm-rows > div")
      .allTextContents()
      .then((rows) => rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n"));
  const untilShown = (page: Page, text: RegExp) =>
    expect.poll(() => linesOf(page), { ...slowly, interval: 100 }).toMatch(text);
  const promptAtEnd = /\$\s*$/;

  async function signInOnLine(page: Page): Promise<void> {
    await page.keyboard.press("Enter");
    await untilShown(page, /web-1 login:\s*$|\$\s*$/);
    if (promptAtEnd.test(await linesOf(page))) return;
    await page.keyboard.type("ubuntu\n");
    await untilShown(page, /Password:\s*$/);
    await page.keyboard.type(`${linux.password}\n`);
    await untilShown(page, promptAtEnd);
  }

  /** The colours at a point of the drawn screen, which is 800 by 600 however large it is shown. */
  const pixelAt = (page: Page, x: number, y: number): Promise<string> =>
    page.evaluate(
      `Array.from(document.querySelector("#console-screen canvas").getContext("2d").getImageData(${x}, ${y}, 1, 1).data.slice(0, 3)).join()`,
    );
  const picture = (page: Page): Promise<string> =>
    page.evaluate(`document.querySelector("#console-screen canvas").toDataURL()`);
  const untilPixel = (page: Page, x: number, y: number, colour: string) =>
    expect.poll(() => pixelAt(page, x, y), { ...slowly, interval: 100 }).toBe(colour);
  const untilOther = async (page: Page, before: string) =>
    expect.poll(async () => (await picture(page)) !== before, { ...slowly, interval: 100 }).toBe(true);
  const white = "255,255,255";
  const sky = "18,53,91";

  test("a person signs in on the serial line, runs a command and pastes another", async () => {
    const page = await openConsole(linux.id);
    await signInOnLine(page);
    await page.keyboard.type("echo kule-$(nobody)-here\n");
    await untilShown(page, /kule-\S*-here\n[^\n]*\$\s*$/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "living-terminal");

    // A browser that lets the page read the clipboard …
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.evaluate(`navigator.clipboard.writeText("echo from the clipboard\\r")`);
    await page.click("[data-act=paste]");
    await untilShown(page, /\nfrom the clipboard\n/);
    // … and one that does not: then there is a field to paste into.
    await page.context().clearPermissions();
    await page.click("[data-act=paste]");
    await page.fill("#console-paste textarea", "echo from the field\n");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "living-paste");
    expect((await page.locator("#console-paste").boundingBox())?.x).toBeGreaterThan(100);
    await page.click("#console-paste button[value=send]");
    await untilShown(page, /\nfrom the field\n/);

    // The machine has the whole screen, and is informed of its size.
    await page.click("[data-act=full-screen]");
    await expect.poll(() => page.evaluate("document.fullscreenElement !== null"), slowly).toBe(true);
    await page.keyboard.type("echo still typing\n");
    await untilShown(page, /\nstill typing\n/);
    await page.click("[data-act=full-screen]");
    await expect.poll(() => page.evaluate("document.fullscreenElement === null"), slowly).toBe(true);
  });

  test("the console reconnects without a click after a cut tunnel and a lost agent", async () => {
    const page = await openConsole(linux.id);
    await signInOnLine(page);
    const cutAt = performance.now();
    world.balancer.cut();
    await untilState(page, "again");
    await takeScreenshots(page, "living-again");
    await untilState(page, "open");
    expect(performance.now() - cutAt).toBeLessThan(30_000);
    await signInOnLine(page);
    await page.keyboard.type("echo back again\n");
    await untilShown(page, /\nback again\n/);

    await world.endAgent();
    await untilState(page, "again");
    world.startAgent();
    await untilState(page, "open");
    await signInOnLine(page);
    await page.keyboard.type("echo with a new agent\n");
    await untilShown(page, /\nwith a new agent\n/);
  });

  test("viewers of the server see the session, and can end it", async () => {
    const page = await openConsole(linux.id);
    await signInOnLine(page);
    const { page: other } = await signedIn();
    await other.goto(`${world.url}/servers/${linux.id}/console-sessions`);
    const panel = other.locator("#console-sessions");
    await expect.poll(() => panel.textContent(), slowly).toMatch(/Ada \(you\) · text/);
    // The page polls; the figures are recorded every few seconds.
    await expect
      .poll(() => panel.textContent(), slowly)
      .toMatch(/[1-9][\d.]* k?B typed, [1-9][\d.]* k?B shown/);
    await other.locator("#console-sessions").scrollIntoViewIfNeeded();
    expect(await accessibilityProblems(other)).toEqual([]);
    await takeScreenshots(other, "living-sessions");
    await panel.locator("button", { hasText: "End" }).click();
    await other.waitForSelector("text=The console session is ended.");
    await untilState(page, "closed");
    expect(await page.textContent("#console-state")).toBe("Somebody ended this session.");
    await takeScreenshots(page, "living-ended");
    expect(await panel.textContent()).toContain("Nobody has the console open.");
    await page.click("[data-act=reconnect]");
    await untilState(page, "open");
  });

  test("a screen is drawn, takes keys and Ctrl+Alt+Del, and comes back after a cut, in Turkish", async () => {
    const page = await openConsole(windows.id, { locale: "tr-TR" });
    expect(await page.textContent("#console-state")).toBe("Bağlı");
    await untilPixel(page, 5, 5, sky);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "living-screen-locked");
    // It is in the middle of the available space.
    const shown = await page.locator("#console-screen canvas").boundingBox();
    const width = page.viewportSize()?.width ?? 0;
    expect(Math.abs((shown?.x ?? 0) * 2 + (shown?.width ?? 0) - width)).toBeLessThan(4);
    // The lock screen has no password field; the screen after Ctrl+Alt+Del has one, and it is white.
    expect(await pixelAt(page, 540, 295)).toBe(sky);
    await page.click("[data-act=ctrl-alt-del]");
    await untilPixel(page, 540, 295, white);
    let before = await picture(page);
    await page.keyboard.type("abc");
    await untilOther(page, before);
    for (let n = 0; n < 3; n++) await page.keyboard.press("Backspace");
    await page.keyboard.type(windows.password);
    await page.keyboard.press("Enter");
    // The notepad's page.
    await untilPixel(page, 400, 470, white);
    before = await picture(page);
    await page.keyboard.type("Merhaba Kule");
    await untilOther(page, before);
    before = await picture(page);
    await page.click("[data-act=paste]");
    await page.fill("#console-paste textarea", "\npasted as keys");
    await page.click("#console-paste button[value=send]");
    await untilOther(page, before);
    await takeScreenshots(page, "living-screen");

    world.balancer.cut();
    await untilState(page, "again");
    expect(await page.textContent("#console-state")).toBe("Bağlantı koptu. Yeniden bağlanılıyor …");
    await untilState(page, "open");
    await untilPixel(page, 400, 470, white);
    before = await picture(page);
    await page.locator("#console-screen canvas").click();
    await page.keyboard.type("!");
    await untilOther(page, before);
  });

  test("an idle console ends, with a text in both languages", async () => {
    await world.restartApi({ KULE_CONSOLE_IDLE_SECONDS: "5" });
    const page = await openConsole(linux.id, { locale: "tr-TR" });
    await untilState(page, "closed");
    expect(await page.textContent("#console-state")).toBe("Uzun süre bir şey yazılmadığı için kapatıldı.");
    await takeScreenshots(page, "living-idle-turkish");
    await page.click("[data-act=reconnect]");
    await untilState(page, "open");
    const english = await openConsole(windows.id);
    await untilState(english, "closed");
    expect(await english.textContent("#console-state")).toBe(
      "Closed because nothing was typed for a long time.",
    );
  });
});
