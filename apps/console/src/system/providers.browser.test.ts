import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addMember } from "@kule/testing/add-member";
import { probeChromium } from "@kule/testing/chromium";
import { RealProvider, signInAtProvider } from "@kule/testing/oidc/real-provider";
import { requirePart } from "@kule/testing/parts";
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
import { type PanelStack, startPanelStack } from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);
const phone = { width: 390, height: 844 };

/** Signing in with a real provider, in a real browser, against a whole Kule. */
describe.skipIf(part.missing)("providers in the panel of a whole Kule", { timeout: 240_000 }, () => {
  let stack: PanelStack;
  let browser: Browser;
  let provider: RealProvider;
  let url: string;
  const folder = mkdtempSync(join(tmpdir(), "kule-oidc-"));
  beforeAll(async () => {
    provider = await RealProvider.start();
    const file = join(folder, "oidc.yaml");
    const entry = {
      id: "acme",
      label: "Acme ID",
      issuer: provider.issuer,
      client_id: provider.clientId,
      client_secret_env: "ACME_SECRET",
    };
    writeFileSync(file, JSON.stringify({ providers: [entry] }));
    stack = await startPanelStack({ apiEnv: { KULE_OIDC_FILE: file, ACME_SECRET: provider.clientSecret } });
    url = stack.url;
    await provider.sendBackTo(`${url}/sign-in/with/acme/callback`);
    browser = await openBrowser();
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await stack?.end();
    await provider?.stop();
    rmSync(folder, { recursive: true });
  });

  async function addPerson(name: string) {
    const email = `${name}@example.org`;
    provider.addAccount(name, { email, email_verified: true, name });
    return addMember(stack.world.organisation, { email, name, role: "member" });
  }

  /** On the provider's own pages. */
  async function agreeAs(page: Page, login: string): Promise<void> {
    await page.waitForURL(`${provider.issuer}/**`);
    await page.fill("input[name=login]", login);
    await page.fill("input[name=password]", "whatever");
    await page.click("button[type=submit]");
    await page.waitForSelector("input[name=prompt][value=consent]", { state: "attached" });
    await page.click("button[type=submit]");
    await page.waitForURL(`${url}/**`);
  }

  async function signOut(page: Page): Promise<void> {
    await page.click(".account summary");
    await page.click(".account-menu form[action='/sign-out'] button");
    await page.waitForURL("**/sign-in?**");
  }

  /** No code is in the address or in the browser's history. */
  const expectNoCode = (page: Page) => expect(page.url()).not.toMatch(/code=|state=/);

  test("an account is linked by its person, signs in, serves as a proof and is unlinked again", async () => {
    const ada = await addPerson("ada");
    const watched = await openPage(browser);
    const { page } = watched;
    page.setDefaultTimeout(40_000);
    await page.goto(`${url}/sign-in`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "sign-in-with-provider");
    await page.click("text=Sign in with Acme ID");
    await agreeAs(page, "ada");
    // The same e-mail is not sufficient.
    await page.waitForSelector(".banner[data-kind=problem] >> text=There is an account with your e-mail");
    expectNoCode(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "sign-in-provider-refused");

    await signInAs(page, url, ada.email, ada.password);
    await page.waitForURL("**/servers");
    await page.goto(`${url}/account/security`);
    await page.click("#identities >> text=Link Acme ID");
    await page.waitForURL(`${url}/account/security?**`);
    await page.waitForSelector(".banner >> text=The provider is linked");
    expectNoCode(page);
    expect(await page.textContent("#identities tbody")).toContain(ada.email);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account-identities");

    await signOut(page);
    await page.goto(`${url}/sign-in?return_to=/networks`);
    await page.click("text=Sign in with Acme ID");
    // The provider has a session of theirs by now.
    await page.waitForURL(`${url}/networks`);
    await page.goto(`${url}/account/security`);
    await page.waitForSelector("#sessions tr:has(.tag) >> text=Acme ID");

    await page.goto(`${url}/account/proof`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "account-proof-provider");
    await page.click("text=Prove it with Acme ID");
    await page.waitForURL(`${provider.issuer}/**`);
    await page.fill("input[name=login]", "ada");
    await page.fill("input[name=password]", "whatever");
    await page.click("button[type=submit]");
    await page.waitForSelector(".banner >> text=You can continue now");

    await page.click("#identities .row-act summary");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.click("#identities .row-act button");
    await page.waitForSelector(".banner >> text=not linked any more");
    await signOut(page);
    await page.click("text=Sign in with Acme ID");
    await page.waitForSelector(".banner[data-kind=problem] >> text=There is an account with your e-mail");
    // The provider's own pages load fonts from elsewhere and an icon that they do not have.
    const ours = complaintsBeyond(watched, 404).filter((text) => !text.includes("ERR_NAME_NOT_RESOLVED"));
    expect(ours).toEqual([]);
    await watched.context.close();
  });

  test("a new person joins by an invitation on a phone, in Turkish and without a script, and sets a password", async () => {
    const email = "yeni@example.org";
    provider.addAccount("yeni", { email, email_verified: true, name: "Yeni Üye" });
    const invited = await stack.world.organisation.POST("/invitations", { body: { email, role: "member" } });
    const { page, context } = await openPage(browser, { locale: "tr-TR", javaScriptEnabled: false });
    page.setDefaultTimeout(40_000);
    await page.setViewportSize(phone);
    await page.goto(`${url}/sign-in`);
    await page.click("text=Acme ID ile oturum aç");
    await agreeAs(page, "yeni");
    await page.waitForSelector(".banner >> text=henüz bir kuruluşa bağlı değilsiniz");

    // axe needs scripts: a second browser of the same person, with scripts.
    const looked = await openPage(browser, { locale: "tr-TR" });
    const look = async (path: string, name: string) => {
      await looked.context.addCookies(await context.cookies());
      await looked.page.setViewportSize(phone);
      await looked.page.goto(`${url}${path}`);
      expect(await accessibilityProblems(looked.page)).toEqual([]);
      await takeScreenshots(looked.page, name);
    };
    await look("/sign-in", "sign-in-with-provider-tr");
    await look(`/join?invitation=${invited.data?.secret}`, "join-with-provider");
    await page.goto(`${url}/join?invitation=${invited.data?.secret}`);
    await page.click("text=Acme ID ile katıl");
    await page.waitForURL(`${url}/servers`);
    await page.goto(`${url}/account/security`);
    await page.waitForSelector("#password >> text=Parolasız oturum açıyorsunuz");
    expect(await page.locator("#field-current_password").count()).toBe(0);
    await look("/account/security", "account-without-password");
    await looked.context.close();
    const unlink = async () => {
      await page.click("#identities .row-act summary");
      await page.click("#identities .row-act button");
    };
    // This provider does not report the time of its authentication, so the sign-in is no proof: a new one is required.
    await unlink();
    await page.waitForURL("**/account/proof");
    expect(await page.locator("input[name=password]").count()).toBe(0);
    await page.click("text=Acme ID ile kanıtla");
    await page.waitForURL(`${provider.issuer}/**`);
    await page.fill("input[name=login]", "yeni");
    await page.fill("input[name=password]", "whatever");
    await page.click("button[type=submit]");
    await page.waitForURL(`${url}/account/security?**`);
    await unlink();
    await page.waitForSelector(".banner >> text=Onsuz bir daha oturum açamazdınız");

    await page.fill("#field-new_password", "yedi cesur su samuru");
    await page.fill("#field-repeat_password", "yedi cesur su samuru");
    await page.click("#password button[type=submit]");
    await page.waitForSelector(".banner >> text=Parola belirlendi");
    await unlink();
    await page.waitForSelector(".banner >> text=Sağlayıcının bağlantısı kaldırıldı");
    await context.close();
  });

  test("an answer to another browser is refused, and another site's page cannot start a sign-in", async () => {
    const victim = await openPage(browser);
    await addPerson("eve");
    // Eve starts, signs in at the provider, and keeps the last step for another person.
    const begun = await fetch(`${url}/sign-in/with/acme`, { redirect: "manual" });
    const query = await signInAtProvider(begun.headers.get("location") ?? "", "eve");
    const callback = `${url}/sign-in/with/acme/callback?${query}`;

    for (const hasBegun of [false, true]) {
      if (hasBegun) {
        await victim.page.goto(`${url}/sign-in`);
        await victim.page.click("text=Sign in with Acme ID");
        await victim.page.waitForURL(`${provider.issuer}/**`);
      }
      await victim.page.goto(callback);
      await victim.page.waitForSelector(".banner[data-kind=problem] >> text=began in another browser");
      expectNoCode(victim.page);
      await victim.page.goto(`${url}/servers`);
      await victim.page.waitForURL("**/sign-in**");
    }
    // It was valid for the browser that started it: it is refused only because eve has an account.
    const cookie = begun.headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
    const own = await fetch(callback, { redirect: "manual", headers: { cookie } });
    expect(own.headers.get("location")).toBe("/sign-in?with=acme&why=not_yet_an_account");
    // From a page of another site the sign-in page opens, and no flow starts.
    await victim.page.goto(`${provider.issuer}/nowhere`);
    await victim.page.evaluate(`location.href = ${JSON.stringify(`${url}/sign-in/with/acme`)}`);
    await victim.page.waitForURL(`${url}/sign-in`);
    await victim.context.close();
  });

  test("a provider that does not answer is reported, and the password still signs in", async () => {
    const grace = await addPerson("grace");
    const { page, context } = await openPage(browser);
    page.setDefaultTimeout(40_000);
    await page.goto(`${url}/sign-in`);
    await page.click("text=Sign in with Acme ID");
    await page.waitForURL(`${provider.issuer}/**`);
    const back = new URL(page.url());
    expect(back.origin).toBe(provider.issuer);
    await page.click("text=Cancel");
    await page.waitForSelector(".banner[data-kind=problem] >> text=Acme ID did not sign you in");
    expectNoCode(page);

    await page.click("text=Sign in with Acme ID");
    await page.waitForURL(`${provider.issuer}/**`);
    await page.fill("input[name=login]", "grace");
    await page.fill("input[name=password]", "whatever");
    await page.click("button[type=submit]");
    await page.waitForSelector("input[name=prompt][value=consent]", { state: "attached" });
    provider.refuseCodes();
    await page.click("button[type=submit]");
    await page.waitForSelector(".banner[data-kind=problem] >> text=does not answer at the moment");
    await signInAs(page, url, grace.email, grace.password);
    await page.waitForURL("**/servers");
    await context.close();
  });
});
