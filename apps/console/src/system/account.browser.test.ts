import { addMember } from "@kule/testing/add-member";
import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { Secret, TOTP } from "otpauth";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openBrowser,
  openPage,
  signInAs,
  takeScreenshots,
} from "../testing/browser.ts";
import { type PanelStack, send, startPanelStack } from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);
const periodMs = 30_000;

/** Sign-in methods and sessions, against the real API. */
describe.skipIf(part.missing)("one's own account in the panel of a whole Kule", { timeout: 240_000 }, () => {
  let stack: PanelStack;
  let browser: Browser;
  let url: string;
  beforeAll(async () => {
    stack = await startPanelStack();
    browser = await openBrowser();
    url = stack.url.replace("127.0.0.1", "localhost");
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await stack?.end();
  });

  async function addPerson(name: string) {
    const email = `${name}@example.org`;
    return addMember(stack.world.organisation, { email, name, role: "member" });
  }

  /** Signs in and opens the account by the menu. */
  async function openAccount(page: Page): Promise<void> {
    await page.click(".account summary");
    await page.click(".account-menu a[href='/account/security']");
    await page.waitForURL("**/account/security");
  }

  async function signOut(page: Page): Promise<void> {
    await page.click(".account summary");
    await page.click(".account-menu form[action='/sign-out'] button");
    await page.waitForURL("**/sign-in?**");
  }

  test("an app and recovery codes are set up and required, and a passkey replaces them", async () => {
    const ada = await addPerson("ada");
    const watched = await openPage(browser);
    const { page, context } = watched;
    page.setDefaultTimeout(40_000);
    await signInAs(page, url, ada.email, ada.password);
    await page.waitForURL("**/servers");
    await openAccount(page);
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.click("#two-factor button");
    await page.waitForSelector(".qr-code svg");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account-set-up");
    const secret = ((await page.textContent("#totp-secret")) ?? "").replaceAll(" ", "");
    const app = new TOTP({ secret: Secret.fromBase32(secret) });
    await page.fill("#field-code", "000000");
    await send(page, "main .form button[type=submit]");
    await page.waitForSelector("#code-problem");
    // The same secret as before: the scanned one stays valid.
    expect(((await page.textContent("#totp-secret")) ?? "").replaceAll(" ", "")).toBe(secret);
    const startedAt = Date.now();
    await page.fill("#field-code", app.generate({ timestamp: startedAt }));
    await send(page, "main .form button[type=submit]");
    const codes = ((await page.textContent("#recovery-codes")) ?? "").trim().split("\n");
    expect(codes).toHaveLength(10);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account-recovery-codes");
    await page.click("a[href='/account/security'][data-kind=primary]");
    await page.waitForSelector("#two-factor .status[data-tone=good]");

    await signOut(page);
    await signInAs(page, url, ada.email, ada.password);
    await page.waitForURL("**/sign-in/second-factor");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "sign-in-second-factor");
    // The first step alone is no session, and another page starts the sign-in again.
    await page.goto(`${url}/servers`);
    await page.waitForURL("**/sign-in**");
    await page.goto(`${url}/sign-in/second-factor`);
    await page.waitForURL("**/sign-in");
    await signInAs(page, url, ada.email, ada.password);
    await page.waitForURL("**/sign-in/second-factor");
    await page.fill("#field-code", "000000");
    await send(page, ".sign-in-card button[type=submit]");
    await page.waitForSelector(".banner[data-kind=problem]");
    await page.fill("#field-code", app.generate({ timestamp: startedAt + periodMs }));
    await page.click(".sign-in-card button[type=submit]");
    await page.waitForURL("**/servers");

    const cdp = await context.newCDPSession(page);
    await cdp.send("WebAuthn.enable");
    await cdp.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.goto(`${url}/account/passkeys/new`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account-passkey");
    await page.fill("#field-name", "My phone");
    await page.click("main .form button[type=submit]");
    await page.waitForSelector("#passkeys th >> text=My phone");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account");

    await signOut(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "sign-in");
    await page.click(".sign-in-other a[href^='/sign-in/passkey']");
    await page.waitForURL("**/sign-in/passkey**");
    await takeScreenshots(page, "sign-in-passkey");
    await page.click(".sign-in-card button[type=submit]");
    await page.waitForURL("**/servers");
    await page.goto(`${url}/account/security`);
    await page.waitForSelector("#sessions tr:has(.tag) >> text=passkey");

    // As the second step after the password, too.
    await signOut(page);
    await signInAs(page, url, ada.email, ada.password);
    await page.waitForURL("**/sign-in/second-factor");
    await page.click(".sign-in-card a[href='/sign-in/passkey']");
    await page.click(".sign-in-card button[type=submit]");
    await page.waitForURL("**/servers");

    await page.goto(`${url}/account/security`);
    await page.click("#passkeys .row-act summary");
    await page.click("#passkeys .row-act button");
    await page.waitForSelector(".banner >> text=The passkey was removed");
    expect(complaintsBeyond(watched, 401, 422)).toEqual([]);
    await context.close();
  });

  test("an operator resets a lost second factor, and the person sees it", async () => {
    const lost = await addPerson("lost");
    const { page, context } = await openPage(browser);
    page.setDefaultTimeout(40_000);
    await signInAs(page, url, lost.email, lost.password);
    await page.waitForURL("**/servers");
    await openAccount(page);
    await page.click("#two-factor button");
    const secret = ((await page.textContent("#totp-secret")) ?? "").replaceAll(" ", "");
    await page.fill("#field-code", new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await send(page, "main .form button[type=submit]");
    await page.waitForSelector("#recovery-codes");

    const operator = await stack.signIn("operator");
    await operator.open("/members");
    const row = `tr:has-text("${lost.email}")`;
    await operator.page.click(`${row} summary:has-text("Reset second factor")`);
    expect(await accessibilityProblems(operator.page)).toEqual([]);
    await takeScreenshots(operator.page, "members-reset-second-factor");
    await operator.page.click(`${row} form[action$="/second-factor"] button[data-kind=danger]`);
    await operator.page.waitForSelector(".banner >> text=The second factor is removed");
    expect(await operator.page.locator(`${row} summary:has-text("Reset second factor")`).count()).toBe(0);
    await operator.context.close();

    await page.goto(`${url}/servers`);
    await page.waitForURL("**/sign-in**");
    await signInAs(page, url, lost.email, lost.password);
    await page.waitForURL("**/servers");
    await openAccount(page);
    await page.waitForSelector(".banner >> text=An operator took your second factor away");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account-second-factor-reset");
    await context.close();
  });

  test("a person ends another session, and changes the password, in Turkish and without a script", async () => {
    const grace = await addPerson("grace");
    const there = await openPage(browser);
    await signInAs(there.page, url, grace.email, grace.password);
    await there.page.waitForURL("**/servers");

    const here = await openPage(browser, { locale: "tr-TR", javaScriptEnabled: false });
    const { page } = here;
    await signInAs(page, url, grace.email, grace.password);
    await page.waitForURL("**/servers");
    await page.goto(`${url}/account/security`);
    await page.waitForSelector("h2 >> text=Oturumlar");
    expect(await page.locator("#sessions tbody tr").count()).toBe(2);
    await page.click("#sessions .row-act button");
    await page.waitForSelector(".banner >> text=Oturum kapatıldı");
    expect(await page.locator("#sessions tbody tr").count()).toBe(1);
    await there.page.goto(`${url}/servers`);
    await there.page.waitForURL("**/sign-in**");

    const change = async (current: string, wanted: string, again = wanted) => {
      await page.fill("#field-current_password", current);
      await page.fill("#field-new_password", wanted);
      await page.fill("#field-repeat_password", again);
      await send(page, "#password button[type=submit]");
    };
    await change(grace.password, "yedi cesur su samuru", "yedi cesur");
    await page.waitForSelector("#repeat_password-problem");
    await change("yanlış", "yedi cesur su samuru");
    await page.waitForSelector("#current_password-problem");
    await change(grace.password, "kısa");
    await page.waitForSelector("#new_password-problem");
    await change(grace.password, "yedi cesur su samuru");
    await page.waitForSelector(".banner >> text=Parola değiştirildi");
    await signInAs(there.page, url, grace.email, "yedi cesur su samuru");
    await there.page.waitForURL("**/servers");
    await there.context.close();
    await here.context.close();
  });
});
