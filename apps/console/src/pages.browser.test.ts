import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { haveProvider, haveSecondFactor } from "./testing/account-states.ts";
import { openBrowser, openPage, signIn, signInAs, signInAsOperator } from "./testing/browser.ts";
import { crawl, isDownload } from "./testing/crawl.ts";
import { deleteRegions, moveToEmptyOrganisation } from "./testing/empty-states.ts";
import { look } from "./testing/page-look.ts";
import { type PanelWorld, startPanelWorld } from "./testing/panel-world.ts";
import { sendNonsense, typedForms } from "./testing/refusals.ts";
import { refreshTroubles } from "./testing/region-troubles.ts";
import { type People, people } from "./testing/scenes/people.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { troubled } from "./testing/scenes/troubled.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

const lists = [
  "/servers",
  "/networks",
  "/gateways",
  "/load-balancers",
  "/firewalls",
  "/public-ips",
  "/domains",
  "/certificates",
  "/ssh-keys",
  "/jobs",
  "/usage",
  "/usage/segments",
  "/usage/events",
  "/members",
  "/tokens",
  // Of the real organisations none is without an entry.
  "/audit?outcome=failed",
  "/quotas",
  "/search?q=nothing",
];

/** The layout differs by status, and the first rows of the scene's lists differ in it. */
const pagesOf: { readonly [shape: string]: number } = {
  "/servers/*": 6,
  "/jobs/*": 2,
  "/domains/*/delegation": 2,
  "/certificates/*": 2,
};

/** Of longer lists: the rows have the same controls, and each costs the checks of its own. */
const rowsLookedAt = 6;
const shortenLists = `for (const body of document.querySelectorAll("main tbody"))
  for (const row of [...body.rows].slice(${rowsLookedAt})) row.remove()`;

/** Every page of the panel, on desktop and phones, light and dark, in both languages (docs/products/console.md). */
describe.skipIf(part.missing).each([
  ["en", "en-GB"],
  ["tr", "tr-TR"],
] as const)("the panel in %s", { timeout: 1_200_000 }, (language, locale) => {
  let browser: Browser;
  let world: PanelWorld<People>;
  let page: Page;
  let flaws: string[];
  let forgetProvider: () => void;

  beforeAll(async () => {
    forgetProvider = haveProvider();
    browser = await openBrowser();
    await troubled.template();
  }, 240_000);
  afterAll(() => {
    forgetProvider();
    return browser?.close();
  });
  beforeEach(async () => {
    flaws = [];
    ({ page } = await openPage(browser, { locale }));
    page.setDefaultTimeout(40_000);
  }, 60_000);
  afterEach(async () => {
    await page.context().close();
    await world.stop();
  });

  /** A world with something on every page. */
  async function startTour(): Promise<PanelWorld<FactsOf<typeof troubled>>> {
    const started = await startPanelWorld(troubled, { listen: true });
    world = started;
    await refreshTroubles(started.real);
    return started;
  }

  const see = async (name: string, depth?: Parameters<typeof look>[3]) => {
    await page.evaluate(shortenLists);
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
      if (isDownload(path) || times >= (pagesOf[shape] ?? 1)) return null;
      seen.set(shape, times + 1);
      await page.goto(world.url + path);
      const html = await page.content();
      for (const { action, index } of await typedForms(page)) {
        const already = forms.has(action);
        if (!already) forms.set(action, { path, index });
      }
      await see(`${role} ${shape}${times === 0 ? "" : ` ${times + 1}`}`, times === 0 ? "new" : "known");
      return html;
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
    const { facts, real } = await startTour();
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
    await haveSecondFactor(real, facts.people.ada.id);
    await signInAs(page, world.url, "ada@example.org", "correct horse");
    await page.waitForURL("**/sign-in/second-factor");
    await see("guest second factor");
    expect(flaws).toEqual([]);
  });

  test("for an administrator of an organisation", async () => {
    await startTour();
    await signIn(page, world.url);
    await seeAll("/servers", "owner");
    expect(flaws).toEqual([]);
  });

  test("for a viewer", async () => {
    const { facts } = await startTour();
    await signInAs(page, world.url, "vera@example.org", "only looking");
    await page.waitForURL("**/servers");
    const details = [
      `/servers/${facts.servers["app-1"]}`,
      `/networks/${facts.networks.shop}`,
      `/firewalls/${facts.firewalls.web}`,
      `/gateways/${facts.gateways.out}`,
      `/load-balancers/${facts.loadBalancers.front}`,
      `/public-ips/${facts.publicIps["203.0.113.10"]}`,
      `/domains/${facts.domains.shop}`,
      `/certificates/${facts.certificates.uploaded}`,
      `/certificates/${facts.certificates.managed}`,
      `/domains/${facts.domains.waiting}/delegation`,
    ];
    for (const path of [...lists, ...details]) {
      await page.goto(world.url + path);
      await see(`viewer ${path.replace(/_\w+/, "")}`, "known");
    }
    expect(flaws).toEqual([]);
  });

  test("for an empty organisation", async () => {
    world = await startPanelWorld(people, { listen: true });
    await moveToEmptyOrganisation(world.real, world.facts.people.ada.id);
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
    await startTour();
    await signInAsOperator(page, world.url);
    await seeAll("/operator", "operator");
    expect(flaws).toEqual([]);
  });

  test("for operators of an empty installation", async () => {
    world = await startPanelWorld(people, { listen: true });
    await deleteRegions(world.real);
    await signInAsOperator(page, world.url);
    for (const path of [
      "/operator",
      "/operator/regions",
      "/operator/agent-updates",
      "/operator/jobs",
      "/operator/stuck-jobs",
      "/operator/drift",
      "/operator/audit?outcome=failed",
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
    const { facts, real } = await startTour();
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
    const chosen = (ids: Readonly<Record<string, string>>) =>
      Object.values(ids)
        .map((id) => `&ids=${id}`)
        .join("");
    for (const act of ["reboot", "delete"]) {
      await page.goto(`${world.url}/servers/selected?act=${act}${chosen(facts.servers)}`);
      await see(`act ${act} several`);
    }
    for (const [list, act, ids] of [
      ["networks", "delete", facts.networks],
      ["gateways", "delete", facts.gateways],
      ["load-balancers", "apply", facts.loadBalancers],
      ["domains", "delete", facts.domains],
      ["certificates", "delete", facts.certificates],
      ["firewalls", "apply", facts.firewalls],
      ["public-ips", "release", { ...facts.publicIps, free: facts.freeIpId }],
      ["ssh-keys", "delete", facts.sshKeys],
    ] as const) {
      await page.goto(`${world.url}/${list}/selected?act=${act}${chosen(ids)}`);
      await see(`act ${list} ${act} several`);
    }
    await page.goto(`${world.url}/domains/${facts.domains.shop}`);
    for (const box of await page.locator(".record-list .choose input[name=ids]").all()) await box.check();
    await page.click(".selection-bar button");
    await page.waitForSelector("#preview");
    await see("act delete records");
    await haveSecondFactor(real, facts.people.ada.id);
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
