import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openBrowser,
  openPage,
  signInAsOperator,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { fakeNetwork, fakeServer, fakeSubnet } from "./testing/fake-records.ts";
import { fakeDrift, fakeStuckJob } from "./testing/fake-regions.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("the operators' pages in a browser", { timeout: 240_000 }, () => {
  let browser: Browser;
  let world: ConsoleWorld;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    world = await startConsoleWorld({ listen: true });
    watched = await openPage(browser);
    page = watched.page;
    // Each page here makes many requests, and the machine may be busy with other suites.
    page.setDefaultTimeout(40_000);
  });
  afterEach(async () => {
    await watched.context.close();
    await world.stop();
    expect(world.api.defects).toEqual([]);
  });

  function seed(): void {
    const { state } = world.api;
    const network = fakeNetwork({ name: "default", region: "ist1" }, true);
    const subnet = fakeSubnet({ name: "app", tier: "app" }, network);
    network.subnets = [{ id: subnet.id, name: subnet.name, tier: subnet.tier, cidr: subnet.cidr }];
    state.networks.push(network);
    state.subnets.push(subnet);
    state.servers.push(fakeServer({ name: "web-1", image: "ubuntu-24.04", package: "m" }, network, 0));
    const { id, name } = state.organisations[0] ?? { id: "", name: "" };
    for (const reason of ["failed", "repeating", "not_claimed", "slow", "silent"] as const)
      state.stuckJobs.push(fakeStuckJob(reason, { id, name }));
    for (const [index, kind] of (["changed", "missing", "foreign", "extra"] as const).entries())
      state.drift.push({
        ...fakeDrift(kind, 20_001 + index),
        ...(kind === "changed" ? { organisation_id: state.organisations[0]?.id ?? "" } : {}),
      });
  }

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
    seed();
    await signInAsOperator(page, world.url);
    await expectSound("health");
    await page.goto(`${world.url}/organisations`);
    await expectSound("organisations");
    await page.click(".row-acts button");
    await page.waitForURL("**/servers");
    const { organisations, servers } = world.api.state;
    const pages = {
      regions: "/operator/regions",
      fits: "/operator/regions?region=ist1&image=ubuntu-24.04&package=m&count=9",
      "region-new": "/operator/regions/new",
      region: "/operator/regions/ist1",
      invariants: "/operator/invariants",
      "stuck-jobs": "/operator/stuck-jobs",
      "stuck-jobs-none": "/operator/stuck-jobs?region=ank1",
      differences: "/operator/drift",
      "differences-none": "/operator/drift?region=ank1",
      import: "/operator/import?region=ist1&vmid=20003",
      pools: "/ip-pools",
      "pool-new": "/ip-pools/new",
      organisation: `/organisations/${organisations[0]?.id}`,
      lock: `/operator/servers/${servers[0]?.id}/lock`,
      reconcile: `/operator/servers/${servers[0]?.id}/reconcile`,
    };
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(world.url + path);
      await expectSound(name);
    }
    expect(watched.complaints).toEqual([]);
  });

  test("the lists of an import follow the chosen VM, and the input is kept", async () => {
    seed();
    world.api.state.drift.push({ ...fakeDrift("foreign", 20_500), vm_name: "billing.example.org" });
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/operator/import`);
    await page.check("input[value='20003']");
    await page.waitForSelector("#field-name[value='vm-20003']");
    expect(await page.inputValue("#field-name")).toBe("vm-20003");
    await page.check("input[value='20500']");
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
    expect(world.api.state.servers.map(({ name }) => name)).toEqual(["web-1", "ledger"]);
    expect(watched.complaints).toEqual([]);
  });

  test("without JavaScript a pool is filled, allocated, refused with its reasons and deleted", async () => {
    await watched.context.close();
    watched = await openPage(browser, { javaScriptEnabled: false });
    page = watched.page;
    await signInAsOperator(page, world.url);
    await page.click("a[href='/ip-pools']");
    await page.click("a[href='/ip-pools/new']");
    await page.fill("#field-name", "public");
    await page.fill("#field-gateway", "203.0.113.1");
    await page.click("main .form button[type=submit]");
    await page.fill("#field-range", "203.0.113.0/26");
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
    await page.fill("#confirm-name", "public");
    await page.click("#delete button");
    await page.waitForSelector("text=The pool is deleted");
    expect(world.api.state.ipPools).toEqual([]);
  });

  test("a pool in use is drawn, without findings", async () => {
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/ip-pools/new`);
    await page.fill("#field-name", "public");
    await page.fill("#field-gateway", "203.0.113.1");
    await page.click("main .form button[type=submit]");
    await page.fill("#field-range", "203.0.113.0/26");
    await page.click("#ranges .form button");
    await page.fill("#field-count", "12");
    await page.click("#allocate button[type=submit]");
    await page.waitForSelector("text=The addresses are allocated");
    const [pool] = world.api.state.ipPools;
    for (const [index, allocation] of (pool?.allocations ?? []).entries())
      if (index < 5) Object.assign(allocation, { state: index === 4 ? "quarantined" : "taken" });
    await page.reload();
    expect(await page.locator(".stack-bar rect").count()).toBe(5);
    await expectSound("pool");
    expect(watched.complaints).toEqual([]);
  });

  test("quotas are set, and an invalid number is kept beside its error", async () => {
    seed();
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/organisations/${world.api.state.organisations[0]?.id}`);
    await page.fill("input[name=vcpu]", "plenty");
    await page.click("#quotas button[type=submit]");
    await page.waitForSelector("#vcpu-problem");
    await expectSound("quotas-refused");
    await page.fill("input[name=vcpu]", "1");
    await page.click("#quotas button[type=submit]");
    await page.waitForSelector("text=The limits are set");
    expect(world.api.state.limits.get("vcpu")).toBe(1);
    await page.waitForSelector("text=above its limit");
    await expectSound("quotas-over");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });
});
