import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openPage,
  signInAsOperator,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { haveDrift, haveRestore, haveStuckJobs } from "./testing/region-troubles.ts";
import { foreignVm, scanSome } from "./testing/scans.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { servers } from "./testing/scenes/servers.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the operators' pages in a browser", { timeout: 240_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof servers>>;
  let watched: WatchedPage;
  let page: Page;

  // Each page here makes many requests, and the machine may be busy with other suites.
  sceneInBrowser(servers, 40_000, (panel) => {
    ({ browser, world, watched, page } = panel);
  });

  /** Checks the page as it is: no finding of axe, and no wider than a phone. */
  async function expectSound(name: string): Promise<void> {
    const broken = world
      .logged()
      .split("\n")
      .filter((line) => line.includes('"stack"'));
    expect(broken, name).toEqual([]);
    expect(await accessibilityProblems(page), name).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth"), name).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 900 });
    await takeScreenshots(page, `operator-${name}`);
  }

  test("every page is free of findings: health, regions, drift, import, pools, organisations, a lock", async () => {
    const { changedId, foreignVmid } = await haveDrift(world.real);
    await haveStuckJobs(world.real);
    await haveRestore(world.real);
    await signInAsOperator(page, world.url);
    await expectSound("health");
    await page.goto(`${world.url}/organisations`);
    await expectSound("organisations");
    await page.click(".row-acts button");
    await page.waitForURL("**/servers");
    const pages = {
      regions: "/operator/regions",
      fits: "/operator/regions?region=ist1&image=ubuntu-24.04&package=m&count=9",
      "region-new": "/operator/regions/new",
      region: "/operator/regions/ist1",
      invariants: "/operator/invariants",
      restore: "/operator/restore",
      "stuck-jobs": "/operator/stuck-jobs",
      "stuck-jobs-none": "/operator/stuck-jobs?region=ank1",
      differences: "/operator/drift",
      "differences-none": "/operator/drift?region=ank1",
      import: `/operator/import?region=ist1&vmid=${foreignVmid}`,
      pools: "/ip-pools",
      "pool-new": "/ip-pools/new",
      organisation: `/organisations/${world.facts.acme.id}`,
      lock: `/operator/servers/${world.facts.servers["web-1"]}/lock`,
      reconcile: `/operator/servers/${changedId}/reconcile`,
    };
    const rows: { [path: string]: number } = {};
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(world.url + path);
      await expectSound(name);
      rows[name] = await page.locator("main tbody tr").count();
    }
    // One for each reason, and one for each kind.
    expect(rows).toMatchObject({
      "stuck-jobs": 5,
      "stuck-jobs-none": 0,
      differences: 4,
      "differences-none": 0,
    });
    expect(watched.complaints).toEqual([]);
  });

  test("the lists of an import follow the chosen VM, and the input is kept", async () => {
    await scanSome(world.real, [foreignVm(20_090), foreignVm(20_095, "billing.example.org")]);
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/operator/import`);
    await page.check("input[value='20090']");
    await page.waitForSelector("#field-name[value='vm-20090']");
    expect(await page.inputValue("#field-name")).toBe("vm-20090");
    await page.check("input[value='20095']");
    await page.waitForSelector("#field-name[value='billing']");
    expect(await page.inputValue("#field-name")).toBe("billing");
    await page.fill("#field-name", "web-1");
    await page.click(".summary button[value=check]");
    await page.waitForSelector("#name-problem >> text=A server named web-1 exists");
    await page.waitForSelector(".blockers >> text=Choose another name");
    await expectSound("import-blocked");
    await page.fill("#field-name", "ledger");
    await page.click(".summary button[value=check]");
    await page.waitForSelector(".ready");
    await page.click(".summary button[value=import]");
    await page.waitForURL(/\/servers\/srv_/);
    const names = (await world.real.list("/servers")).map(({ name }) => name);
    expect(names).toEqual(["ledger", "web-2", "web-1"]);
    expect(watched.complaints).toEqual([]);
  });

  test("without JavaScript a pool is filled, allocated, refused with its reasons and deleted", async () => {
    watched = await openPage(browser, { javaScriptEnabled: false });
    page = watched.page;
    page.setDefaultTimeout(40_000);
    await signInAsOperator(page, world.url);
    await page.click("a[href='/ip-pools']");
    await page.click("a[href='/ip-pools/new']");
    await page.fill("#field-name", "second");
    await page.fill("#field-gateway", "198.51.100.1");
    await page.click("main .form button[type=submit]");
    await page.fill("#field-range", "198.51.100.0/26");
    await page.click("#ranges .form button");
    await page.waitForSelector("text=The range is added");
    await page.fill("#field-count", "100");
    await page.click("#allocate button[type=submit]");
    await page.waitForSelector("#count-problem >> text=has 62 free addresses, not 100");
    expect(await page.inputValue("#field-count")).toBe("100");
    await page.fill("#field-count", "2");
    await page.click("#allocate button[type=submit]");
    await page.waitForSelector("text=The addresses are allocated");
    await page.click("#ranges .row-form button");
    await page.waitForSelector("#ranges .problem >> text=is allocated");
    await page.click(".tabs a[href$='/settings']");
    expect(await page.isDisabled("#delete button")).toBe(true);
    await page.click(".tabs a >> nth=0");
    await page.click("#allocations tbody tr:first-child button");
    await page.click("#allocations tbody tr:first-child button");
    await page.click(".tabs a[href$='/settings']");
    await page.fill("#confirm-name", "publik");
    await page.click("#delete button");
    await page.waitForSelector("#confirm-name-problem");
    await page.fill("#confirm-name", "second");
    await page.click("#delete button");
    await page.waitForSelector("text=The pool is deleted");
    const pools = (await done(world.real.operator.get("/ip-pools"))).items;
    expect(pools.map(({ name }: { name: string }) => name)).toEqual(["public"]);
  });

  test("a pool in use is drawn, without findings", async () => {
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/ip-pools/new`);
    await page.fill("#field-name", "second");
    await page.fill("#field-gateway", "198.51.100.1");
    await page.click("main .form button[type=submit]");
    await page.fill("#field-range", "198.51.100.0/26");
    await page.click("#ranges .form button");
    await page.fill("#field-count", "12");
    await page.click("#allocate button[type=submit]");
    await page.waitForSelector("text=The addresses are allocated");
    for (let number = 2; number <= 6; number++) {
      const body = { region: "ist1", address: `198.51.100.${number}` };
      const { id } = await done(world.real.acme.post("/public-ips", body));
      if (number === 6) await done(world.real.acme.delete(`/public-ips/${id}`));
    }
    await page.reload();
    expect(await page.locator(".stack-bar rect").count()).toBe(5);
    await expectSound("pool");
    expect(watched.complaints).toEqual([]);
  });

  test("quotas are set, and an invalid number is kept beside its error", async () => {
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/organisations/${world.facts.acme.id}`);
    await page.fill("input[name=vcpu]", "plenty");
    await page.click("#quotas button[type=submit]");
    await page.waitForSelector("#vcpu-problem");
    await expectSound("quotas-refused");
    await page.fill("input[name=vcpu]", "1");
    await page.click("#quotas button[type=submit]");
    await page.waitForSelector("text=The limits are set");
    const vcpu = (await world.real.list("/quotas")).find(({ name }) => name === "vcpu");
    expect(vcpu).toMatchObject({ limit: 1, used: 4 });
    await page.waitForSelector("text=above its limit");
    await expectSound("quotas-over");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });
});
