import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openPage,
  signIn,
  signInAs,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import type { ConsoleWorld } from "./testing/console-world.ts";
import { fakeId } from "./testing/fake-records.ts";
import { panelInBrowser } from "./testing/panel-in-browser.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("people of an organisation in a browser", { timeout: 180_000 }, () => {
  let browser: Browser;
  let world: ConsoleWorld;
  let watched: WatchedPage;
  let page: Page;

  panelInBrowser(30_000, (panel) => {
    ({ browser, world, watched, page } = panel);
  });

  test.each([
    ["en-GB", "grete@example.org", "the role is changed"],
    // No browser accepts it as an e-mail.
    ["tr-TR", "çağrı@örnek.example", "rol değişti"],
  ])("a colleague is invited, joins, signs in and gets another role (%s)", async (locale, email, changed) => {
    await watched.context.close();
    watched = await openPage(browser, { locale });
    page = watched.page;
    page.setDefaultTimeout(30_000);
    await signIn(page, world.url);
    await page.click(".sections > a[href='/members']");
    await page.waitForSelector("#invitations");
    await page.click(".page-acts a[href='/members/invite']");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, `members-invite-${locale}`);
    await page.fill("#field-email", email);
    await page.selectOption("#invite-role", "viewer");
    await page.click("main form.form button[type=submit]");
    const link = await page.textContent("#shown-once");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, `members-${locale}`);
    await page.click(".secret a.button");
    await page.waitForURL("**/members");

    const guest = await openPage(browser, { locale });
    guest.page.setDefaultTimeout(30_000);
    await guest.page.goto((link ?? "").trim());
    await guest.page.fill("#field-name", "Grete Hermann");
    expect(await accessibilityProblems(guest.page)).toEqual([]);
    await takeScreenshots(guest.page, `join-${locale}`);
    await guest.page.fill("#field-password", "long enough to be one");
    await guest.page.click("button[data-kind=primary]");
    await guest.page.waitForURL("**/join?done");
    await guest.context.clearCookies();
    await signInAs(guest.page, world.url, email, "long enough to be one");
    await guest.page.waitForURL("**/servers");
    expect(complaintsBeyond(guest)).toEqual([]);
    await guest.context.close();

    await page.reload();
    const row = page.locator("tr", { hasText: email });
    await row.locator("summary").first().click();
    await row.locator("select").selectOption("member");
    await row.locator("button[data-kind=primary]").click();
    await page.waitForURL("**/members?notice=changed");
    expect((await page.textContent(".banner[data-kind=notice]"))?.toLocaleLowerCase(locale)).toContain(
      changed,
    );
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("a person switches organisations without JavaScript, and sees the link on a phone", async () => {
    await watched.context.close();
    watched = await openPage(browser, { javaScriptEnabled: false });
    page = watched.page;
    page.setDefaultTimeout(30_000);
    const ada = world.api.state.users[0];
    world.api.state.memberships.push({
      user: ada?.id ?? "",
      organisation: { id: fakeId("org"), slug: "beta", name: "Beta Works" },
      role: "viewer",
    });
    await signIn(page, world.url);
    await page.click("a.organisation");
    await page.waitForURL("**/switch-organisation");
    await takeScreenshots(page, "switch-organisation");
    await page.click(`#content form[action="/switch-organisation"] button[type=submit]`);
    await page.waitForURL("**/servers");
    expect(await page.textContent(".organisation-name")).toBe("Beta Works");
  });
});
