import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complaintsBeyond } from "../testing/browser.ts";
import {
  type PanelStack,
  type Signed,
  seesStatus,
  send,
  serverIdOf,
  startPanelStack,
} from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** A server's life cycle: every action by its button, against everything that `npm start` starts. */
describe.skipIf(part.missing)("a server in the panel of a whole Kule", { timeout: 240_000 }, () => {
  let stack: PanelStack;
  let owner: Signed;
  let page: Page;
  let id: string;
  beforeAll(async () => {
    stack = await startPanelStack();
    owner = await stack.signIn("organisation");
    page = owner.page;
  }, 240_000);
  afterAll(() => stack?.end());

  const server = async () => {
    const { data } = await stack.world.organisation.GET("/servers/{server_id}", {
      params: { path: { server_id: id } },
    });
    if (data === undefined) throw new Error(`no server ${id}`);
    return data;
  };
  const isRunning = async () =>
    (await stack.world.vms()).find(({ description }) => description.includes(id))?.running;

  test("is created with the values of its form, with a password that is shown once, and becomes ready without a reload", async () => {
    await owner.open("/servers/new");
    await page.check("#image-windows-2022");
    await page.waitForSelector("#package-s:disabled");
    await page.check("[id='image-ubuntu-24.04']");
    await page.check("#package-s");
    await page.fill("#field-name", "tower");
    await page.waitForSelector(".summary .ready");
    await send(page, ".summary button[value=create]");
    await page.waitForURL(/\/servers\/srv_/);
    id = serverIdOf(page);
    const secret = await page.textContent("#console-password");
    expect(secret).toMatch(/^.{12,}$/);
    await page.evaluate("window.sameLoad = true");
    await seesStatus(page, "running");
    expect(await page.evaluate("window.sameLoad")).toBe(true);
    expect(await isRunning()).toBe(true);
    await page.reload();
    expect(await page.content()).not.toContain(secret);
    expect(await server()).toMatchObject({ image: { slug: "ubuntu-24.04" }, status: "running" });
  });

  test("is powered by each item of its menu; unavailable items are disabled with the reason", async () => {
    const press = async (action: string) => {
      await page.click("#power > summary");
      await send(page, `#power button[value=${action}]`);
    };
    for (const [action, status, power] of [
      ["shutdown", "stopped", false],
      ["start", "running", true],
      ["reboot", "running", true],
      ["reset", "running", true],
      ["stop", "stopped", false],
    ] as const) {
      await press(action);
      await seesStatus(page, status);
      expect(await isRunning(), action).toBe(power);
    }
    await page.click("#power > summary");
    expect(await page.isDisabled("#power button[value=reboot]")).toBe(true);
    expect(await page.textContent("#power-reboot")).toMatch(/not running|stopped/);
    await page.keyboard.press("Escape");
    await press("start");
    await seesStatus(page, "running");
  });

  /** The dry run's result for the chosen size. */
  const isReady = async () =>
    expect
      .poll(() => page.textContent("#resize-summary"), { timeout: 30_000, interval: 200 })
      .toContain("Ready to resize");

  test("is resized while it runs, with its restart announced, and down again when it is stopped", async () => {
    await send(page, "a[href$='/resize']");
    await page.check("#package-l");
    await isReady();
    await page.check("#disk-keep");
    await page.waitForSelector("#restart-meaning >> text=restarts");
    await send(page, "#resize-summary button[value=resize]");
    await seesStatus(page, "running");
    expect(await server()).toMatchObject({ package: { slug: "l" }, disk_gb: 40 });
    await page.click("#power > summary");
    await send(page, "#power button[value=stop]");
    await seesStatus(page, "stopped");
    await send(page, "a[href$='/resize']");
    await page.check("#package-m");
    await isReady();
    await send(page, "#resize-summary button[value=resize]");
    await seesStatus(page, "stopped");
    expect(await server()).toMatchObject({ package: { slug: "m" }, disk_gb: 80 });
    await page.click("#power > summary");
    await send(page, "#power button[value=start]");
    await seesStatus(page, "running");
  });

  test("gets another name, a label, and a password that can be copied", async () => {
    await send(page, ".tabs a[href$='/settings']");
    await page.fill("#labels--key", "role");
    await page.fill("#labels--value", "web");
    await send(page, "#labels form:last-of-type button");
    await page.waitForSelector("#labels-role");
    await page.fill("#field-name", "keep");
    await send(page, "#rename button[type=submit]");
    await page.waitForSelector("h1 >> text=keep");
    await seesStatus(page, "running");
    // The guest agent answers some seconds after a start; until then only the next start can be chosen.
    await send(page, ".tabs a[href$='/console-sessions']");
    await page.waitForSelector("#password-reset button[value=now]:enabled");
    await owner.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await send(page, "#password-reset button[value=now]");
    await page.waitForSelector("#console-password");
    await page.click(".secret button.copy");
    await page.waitForSelector(".secret button.copy[data-state=copied]");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      await page.textContent("#console-password"),
    );
    await seesStatus(page, "running");
    await send(page, ".tabs a >> nth=0");
    await send(page, ".facts .tag");
    await page.waitForURL(/labels=role/);
    await send(page, "text=keep");
    expect(await server()).toMatchObject({ name: "keep", labels: { role: "web" } });
  });

  test("is rebuilt only when its name is typed, and never while it is protected", async () => {
    await send(page, ".tabs a[href$='/settings']");
    await send(page, "#danger form:has(input[value=rebuild]) button");
    await page.waitForSelector("#rebuild .why");
    expect(await page.isDisabled("#rebuild button[type=submit]")).toBe(true);
    await send(page, "#danger form:has(input[value=rebuild]) button");
    await page.selectOption("#rebuild-image", "debian-12");
    await page.fill("#rebuild-name", "kee");
    expect(await page.isDisabled("#rebuild button[type=submit]")).toBe(true);
    await page.fill("#rebuild-name", "keep");
    await send(page, "#rebuild button[type=submit]");
    await page.waitForSelector("#console-password");
    await seesStatus(page, "running");
    expect(await server()).toMatchObject({ image: { slug: "debian-12" }, name: "keep" });
  });

  test("is deleted with a countdown, restored running, and finally destroyed early", async () => {
    await send(page, ".tabs a[href$='/settings']");
    await page.fill("#confirm-name", "keep");
    await send(page, "#delete button[type=submit]");
    await page.waitForSelector(".pending time");
    expect(await page.textContent(".pending time")).toMatch(/minutes|1 hour/);
    await expect.poll(isRunning, { timeout: 40_000 }).toBe(false);
    await page.waitForSelector(".pending form[action$='cancel-deletion'] button:enabled");
    await send(page, ".pending form[action$='cancel-deletion'] button");
    await seesStatus(page, "running");
    expect(await isRunning()).toBe(true);
    await send(page, ".tabs a[href$='/settings']");
    await page.fill("#confirm-name", "keep");
    await send(page, "#delete button[type=submit]");
    await page.waitForSelector(".pending time");
    await expect.poll(isRunning, { timeout: 40_000 }).toBe(false);
    await page.click(".pending .confirm > summary");
    await page.fill("#purge-name", "keep");
    await send(page, "#purge button[type=submit]");
    await page.waitForURL("**/servers?notice=gone");
    expect(await isRunning()).toBeUndefined();
    // The page polls the deleted server: that is how it learns of the deletion.
    expect(complaintsBeyond(owner, 404)).toEqual([]);
  });
});
