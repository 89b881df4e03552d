import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser, openPage, signIn, signInAs, signInAsOperator } from "./testing/browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { crawl } from "./testing/crawl.ts";
import { look } from "./testing/page-look.ts";
import { sendNonsense, typedForms } from "./testing/refusals.ts";
import { seedEverything } from "./testing/seed-everything.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

const lists = [
  "/servers",
  "/networks",
  "/gateways",
  "/firewalls",
  "/public-ips",
  "/ssh-keys",
  "/jobs",
  "/usage",
  "/usage/segments",
  "/usage/events",
  "/members",
  "/tokens",
  "/audit",
  "/quotas",
  "/search?q=nothing",
];

/** Every page of the panel, on desktop and phones, light and dark, in both languages (docs/products/console.md). */
describe.skipIf(part.missing).each([
  ["en", "en-GB"],
  ["tr", "tr-TR"],
] as const)("the panel in %s", { timeout: 1_200_000 }, (language, locale) => {
  let browser: Browser;
  let world: ConsoleWorld;
  let page: Page;
  let flaws: string[];

  beforeAll(async () => {
    browser = await openBrowser();
  }, 60_000);
  afterAll(() => browser?.close());
  beforeEach(async () => {
    world = await startConsoleWorld({ listen: true });
    flaws = [];
    ({ page } = await openPage(browser, { locale }));
    page.setDefaultTimeout(40_000);
  }, 60_000);
  afterEach(async () => {
    await page.context().close();
    await world.stop();
    expect(world.api.defects).toEqual([]);
  });

  const see = async (name: string, depth?: Parameters<typeof look>[3]) => {
    flaws.push(...(await look(page, language, `${language} ${name}`, depth)));
  };

  /** Follows every link and checks some pages of each kind. Then sends every form that can be refused. */
  async function seeAll(first: string, role: string): Promise<void> {
    const seen = new Map<string, number>();
    const forms = new Map<string, { readonly path: string; readonly index: number }>();
    await crawl(first, async ({ path }) => {
      // A filtered page has the layout of the unfiltered one.
      const shape = path.replace(/\?.*/, "").replaceAll(/[a-z]+_[0-9a-z]{10,}/g, "*");
      const times = seen.get(shape) ?? 0;
      // Servers differ in layout by status.
      if (path.startsWith("/usage/export") || times >= (/^\/servers\/\*$/.test(shape) ? 8 : 1)) return null;
      seen.set(shape, times + 1);
      await page.goto(world.url + path);
      await see(`${role} ${shape}${times === 0 ? "" : ` ${times + 1}`}`, times === 0 ? "new" : "known");
      for (const { action, index } of await typedForms(page)) {
        const already = forms.has(action);
        if (!already) forms.set(action, { path, index });
      }
      return page.content();
    });
    world.api.refuses = true;
    let refused = 0;
    for (const [action, { path, index }] of forms) {
      await page.goto(world.url + path);
      await sendNonsense(page, index);
      // The controls were checked on the form's own page, and what a refusal adds is one part of the panel.
      await see(`${role} refused ${action}`, refused === 0 ? "new" : refused < 5 ? "changed" : "known");
      refused += 1;
    }
    expect(seen.size).toBeGreaterThan(25);
    expect(forms.size).toBeGreaterThan(8);
  }

  test("without a session", async () => {
    seedEverything(world.api.state);
    const guest = async (path: string, name = path) => {
      await page.goto(world.url + path);
      await see(`guest ${name}`);
    };
    await guest("/sign-in");
    await guest("/sign-in?why=ended");
    await guest("/sign-in?with=acme&why=provider_away");
    await guest("/sign-in/passkey");
    await guest("/join?invitation=gone", "join with nothing");
    await guest("/join?done", "joined");
    await signInAs(page, world.url, "ada@example.org", "wrong");
    await see("guest refused sign-in");
    world.api.state.hasTwoFactor = true;
    await signInAs(page, world.url, "ada@example.org", "correct horse");
    await page.waitForURL("**/sign-in/second-factor");
    await see("guest second factor");
    expect(flaws).toEqual([]);
  });

  test("for an administrator of an organisation", async () => {
    seedEverything(world.api.state);
    await signIn(page, world.url);
    await seeAll("/servers", "owner");
    expect(flaws).toEqual([]);
  });

  test("for a viewer", async () => {
    seedEverything(world.api.state);
    await signInAs(page, world.url, "vera@example.org", "only looking");
    await page.waitForURL("**/servers");
    const { servers, networks, firewalls, gateways, publicIps } = world.api.state;
    const own = { servers, networks, firewalls, gateways, "public-ips": publicIps };
    const details = Object.entries(own).flatMap(([kind, [first]]) =>
      first === undefined ? [] : [`/${kind}/${first.id}`],
    );
    for (const path of [...lists, ...details]) {
      await page.goto(world.url + path);
      await see(`viewer ${path.replace(/_\w+/, "")}`, "known");
    }
    expect(flaws).toEqual([]);
  });

  test("for an empty organisation", async () => {
    await signIn(page, world.url);
    for (const path of [...lists, "/servers/new", "/account/security", "/switch-organisation"]) {
      await page.goto(world.url + path);
      await see(`empty ${path}`, "changed");
    }
    await page.goto(`${world.url}/servers?q=nothing-like-this&label_selector=a==b==c`);
    await see("empty no match");
    await page.goto(`${world.url}/nothing/here`);
    await see("empty not found");
    await page.goto(`${world.url}/operator`);
    await see("empty forbidden");
    world.api.away = true;
    await page.goto(`${world.url}/servers`);
    await see("empty API away");
    expect(flaws).toEqual([]);
  });

  test("for operators", async () => {
    seedEverything(world.api.state);
    await signInAsOperator(page, world.url);
    await seeAll("/operator", "operator");
    expect(flaws).toEqual([]);
  });

  test("for operators of an empty installation", async () => {
    const { state } = world.api;
    state.regions.length = 0;
    await signInAsOperator(page, world.url);
    for (const path of [
      "/operator",
      "/operator/regions",
      "/operator/jobs",
      "/operator/stuck-jobs",
      "/operator/drift",
      "/operator/audit",
      "/operator/import",
      "/ip-pools",
      "/ip-pools/new",
      "/organisations",
    ]) {
      await page.goto(world.url + path);
      await see(`operator empty ${path}`, "changed");
    }
    expect(flaws).toEqual([]);
  });

  test("pages that only an action leads to", async () => {
    seedEverything(world.api.state);
    await signIn(page, world.url);
    await page.goto(`${world.url}/members/invite`);
    await page.fill("#field-email", "grete@example.org");
    await page.click("main form.form button[type=submit]");
    const link = ((await page.textContent("#shown-once")) ?? "").trim();
    await see("act invitation shown once");
    await page.goto(`${world.url}/members`);
    await see("act members with an invitation");
    await page.goto(link);
    await see("act join, signed in as somebody else");
    await page.goto(`${world.url}/tokens/new`);
    await page.fill("#field-name", "deploy");
    await page.click(".token-form button[type=submit]");
    await page.waitForSelector("#shown-once");
    await see("act token shown once");
    await page.goto(`${world.url}/account/security`);
    await page.click("#two-factor button");
    await page.waitForSelector(".qr-code");
    await see("act set up an app");
    await page.goto(`${world.url}/account/proof`);
    await see("act prove who one is");
    const ids = world.api.state.servers.map(({ id }) => `&ids=${id}`).join("");
    for (const act of ["reboot", "delete"]) {
      await page.goto(`${world.url}/servers/selected?act=${act}${ids}`);
      await see(`act ${act} several`);
    }
    const { networks, gateways, firewalls, publicIps, sshKeys } = world.api.state;
    for (const [list, act, items] of [
      ["networks", "delete", networks],
      ["gateways", "delete", gateways],
      ["firewalls", "apply", firewalls],
      ["public-ips", "release", publicIps],
      ["ssh-keys", "delete", sshKeys],
    ] as const) {
      await page.goto(
        `${world.url}/${list}/selected?act=${act}${items.map(({ id }) => `&ids=${id}`).join("")}`,
      );
      await see(`act ${list} ${act} several`);
    }
    world.api.state.hasTwoFactor = true;
    await page.goto(`${world.url}/account/security`);
    await see("act account with a second factor");
    await page.context().clearCookies();
    await page.goto(link);
    await see("act join");
    await page.fill("#field-name", "Grete Hermann");
    await page.fill("#field-password", "long enough to be one");
    await page.keyboard.press("Control+k");
    expect(flaws).toEqual([]);
  });
});
