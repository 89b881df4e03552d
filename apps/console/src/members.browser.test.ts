import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
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
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { type People, people } from "./testing/scenes/people.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("people of an organisation in a browser", { timeout: 180_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<People>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(people, 30_000, (panel) => {
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
    const joined = (await world.real.list("/members")).find(({ user }) => user.email === email);
    expect(joined?.role).toBe("member");
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("a person switches organisations without JavaScript, and sees the link on a phone", async () => {
    await watched.context.close();
    watched = await openPage(browser, { javaScriptEnabled: false });
    page = watched.page;
    page.setDefaultTimeout(30_000);
    const { ada } = world.facts.people;
    const { operator } = world.real;
    const beta = await done(operator.post("/organisations", { slug: "beta", name: "Beta Works" }));
    const betas = new ApiCaller(world.real.app, operator.token, { "Kule-Organisation": beta.id });
    await addMember(betas, { email: ada.email, role: "viewer", password: ada.password });
    await signIn(page, world.url);
    await page.click("a.organisation");
    await page.waitForURL("**/switch-organisation");
    await takeScreenshots(page, "switch-organisation");
    await page.click(`#content form[action="/switch-organisation"] button[type=submit]`);
    await page.waitForURL("**/servers");
    expect(await page.textContent(".organisation-name")).toBe("Beta Works");
  });
});
