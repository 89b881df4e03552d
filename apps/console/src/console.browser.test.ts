import { ApiCaller } from "@kule/api/testing/api-caller";
import type { ClaimedJob } from "@kule/api/testing/test-agent";
import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openPage,
  signIn,
  signInAsOperator,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { haveDrift, takeCreate } from "./testing/region-troubles.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { people } from "./testing/scenes/people.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { becomeStale } from "./testing/server-states.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

const publicKey =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";
/** A password that the API has made. */
const madePassword = /^[A-Za-z2-9]{20}$/;

describe.skipIf(part.missing)("the console in a browser", { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: PanelWorld<FactsOf<typeof people>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(people, 10_000, async (panel) => {
    ({ browser, world } = panel);
    watched = await openPage(browser, { reducedMotion: "no-preference" });
    page = watched.page;
  });

  async function createServer(name: string): Promise<void> {
    await page.goto(`${world.url}/servers/new`);
    await page.fill("input[name=name]", name);
    await page.waitForSelector("#check-result .ready");
    await page.click("#create-summary button[type=submit]");
    await page.waitForURL(/\/servers\/srv_/);
  }

  test("a person signs in, creates a server, follows it live, deletes it and cancels the deletion", async () => {
    await signIn(page, world.url);
    await createServer("web-1");
    const password = await page.textContent("#console-password");
    expect(password).toMatch(madePassword);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-password");
    await page.reload();
    expect(await page.content()).not.toContain(password);

    const { agent } = world.real;
    const job = await takeCreate(world.real);
    const observed = { name: "observe", status: "succeeded" };
    await agent.report(job, { phase: "observe", progress: 5, step: observed });
    const clone = { name: "clone", status: "running", message: "clone of template 9000 to VM 20000" };
    await agent.report(job, { phase: "apply", progress: 40, step: clone });
    await page.waitForSelector(".phase[data-state=busy] >> text=Apply");
    expect(await page.textContent(".steps")).toContain("Clone the image");
    await takeScreenshots(page, "server-creating");
    await agent.succeed(job);
    await page.waitForSelector("#resource-live .status[data-tone=good] >> text=running");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-running");

    await page.click(".tabs a[href$='/settings']");
    const deleteButton = page.locator("form[action$='/delete'] button[type=submit]");
    expect(await deleteButton.isDisabled()).toBe(true);
    await page.fill("#confirm-name", "web-1");
    await deleteButton.click();
    await page.waitForSelector(".pending time");
    // It counts down from three days.
    await expect.poll(() => page.textContent(".pending time")).toBe("2 days, 23 hours");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-pending-deletion");

    await page.click(".pending button[type=submit]");
    await page.waitForSelector("text=The deletion is undone");
    await agent.work();
    await page.waitForSelector("#resource-live .status[data-tone=good] >> text=running");
    expect(watched.complaints).toEqual([]);
  });

  type Seeded = {
    readonly ids: { readonly [name: string]: string };
    /** The job that creates `shop-worker`. */
    readonly creating: ClaimedJob;
  };

  /** One server in each state that a list shows: the newest is in its creation. */
  async function seedServers(): Promise<Seeded> {
    const { acme, agent } = world.real;
    await done(acme.post("/ssh-keys", { name: "laptop", public_key: publicKey }));
    const ids: { [name: string]: string } = {};
    const create = async (name: string, more: object = {}) => {
      const body = { name, region: "ist1", image: "ubuntu-24.04", package: "m", ...more };
      ids[name] = (await done(acme.post("/servers", body))).server.id;
    };
    await create("shop-web-1", { protection: { delete: true } });
    await create("shop-web-2");
    await create("build-runner", { image: "windows-2025", package: "l", start: false });
    await create("old-mail");
    await agent.work();
    await done(acme.delete(`/servers/${ids["old-mail"]}`));
    await agent.work();
    await create("reports");
    await agent.fail(await agent.take("ServerCreate"));
    await create("shop-worker");
    const creating = await agent.take("ServerCreate");
    const step = { name: "clone", status: "running" };
    await agent.report(creating, { phase: "apply", progress: 40, step });
    return { ids, creating };
  }

  test("an out-of-date or changed server is marked, and operators see all regions", async () => {
    const { changedId } = await haveDrift(world.real);
    await becomeStale(world.real, changedId, 312);
    await signInAsOperator(page, world.url);
    await page.goto(`${world.url}/organisations`);
    await page.click(".row-acts button");
    await page.waitForURL("**/servers");
    await page.goto(`${world.url}/servers/${changedId}`);
    await page.waitForSelector("#stale-server");
    await page.waitForSelector("#drift li");
    await page.waitForSelector("text=Ubuntu 24.04.1 LTS");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-seen");
    await page.click(".sections > a[href='/operator']");
    await page.waitForURL("**/operator");
    await page.click(".tabs a[href='/operator/regions']");
    await page.waitForSelector("#region-ist1");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "operator-regions");
    expect(watched.complaints).toEqual([]);
  });

  test("the list follows statuses without a reload, and keeps focus, typed text and scroll", async () => {
    const { ids, creating } = await seedServers();
    const id = ids["shop-worker"];
    await signIn(page, world.url);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers");
    await page.setViewportSize({ width: 1360, height: 420 });
    await page.focus(`#open-${id}`);
    await page.evaluate("scrollTo(0, 60)");
    const marked = await page.evaluate(`document.getElementById("${id}").marked = true`);
    expect(marked).toBe(true);

    await world.real.agent.succeed(creating);
    await page.waitForSelector(`#${id} .status[data-tone=good]`);
    expect(await page.evaluate("document.activeElement.id")).toBe(`open-${id}`);
    expect(await page.evaluate("scrollY")).toBe(60);
    // The same element: changed in place, not replaced.
    expect(await page.evaluate(`document.getElementById("${id}").marked`)).toBe(true);
    expect(watched.complaints).toEqual([]);
  });

  test("filters narrow the list while the person types and stay in the address", async () => {
    await seedServers();
    await signIn(page, world.url);
    await page.keyboard.press("/");
    await page.keyboard.type("shop", { delay: 20 });
    const asked = (name: string) => new URL(page.url()).searchParams.get(name);
    // When typing is slow the request for a prefix is sent first; it finds the same servers.
    await expect.poll(() => asked("q")).toBe("shop");
    await expect.poll(() => page.locator("#server-list tbody tr").count()).toBe(3);
    expect(await page.inputValue("input[type=search]")).toBe("shop");
    await page.selectOption("select[name=status]", "creating");
    await expect.poll(() => asked("status")).toBe("creating");
    await expect.poll(() => page.locator("#server-list tbody tr").count()).toBe(1);
    await page.reload();
    expect(await page.locator("#server-list tbody tr").count()).toBe(1);
    await page.fill("input[type=search]", "nothing-like-this");
    await page.waitForSelector("text=Nothing matches");
    await takeScreenshots(page, "servers-no-match");
    expect(watched.complaints).toEqual([]);
  });

  test("what was typed into a filter before htmx listened narrows the list too", async () => {
    await seedServers();
    await signIn(page, world.url);
    // After the page's script, before the task in which htmx begins to listen.
    await page.addInitScript(`addEventListener("DOMContentLoaded", () => {
      document.querySelector("main input[type=search]").value = "shop";
    })`);
    await page.goto(`${world.url}/servers`);
    await page.waitForURL("**/servers?*q=shop*");
    await expect.poll(() => page.locator("#server-list tbody tr").count()).toBe(3);
  });

  test("the first page of an empty organisation shows the first step", async () => {
    await page.goto(`${world.url}/servers`);
    await page.waitForURL("**/sign-in");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "sign-in");
    await signIn(page, world.url);
    await page.waitForSelector("text=No servers yet");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers-empty");
    expect(watched.complaints).toEqual([]);
  });

  test("choosing Windows disables packages that are too small with the reason, and the check follows every choice", async () => {
    await seedServers();
    await closeAnkara();
    await signIn(page, world.url);
    await page.goto(`${world.url}/servers/new`);
    await page.fill("input[name=name]", "Web_1");
    expect(await page.getAttribute("[data-rule=characters]", "data-state")).toBe("broken");
    await page.fill("input[name=name]", "web-9");
    expect(await page.getAttribute("[data-rule=characters]", "data-state")).toBe("met");
    await page.waitForSelector("#check-result .ready");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "create");

    await page.click("#advanced > summary");
    await page.check("#image-windows-2025");
    await page.waitForSelector("#package-s:disabled", { state: "attached" });
    // An open section stays open, although the console does not know its state.
    expect(await page.locator("#advanced").evaluate((details) => details.hasAttribute("open"))).toBe(true);
    expect(await page.textContent("label:has(#package-s)")).toContain(
      "Windows Server 2025 needs package L or larger",
    );
    expect(await page.isDisabled("#package-l")).toBe(false);
    expect(await page.isChecked("#package-l")).toBe(true);
    expect(await page.textContent("#access")).toContain("Windows takes no SSH keys");
    expect(await page.evaluate("document.activeElement.id")).toBe("image-windows-2025");
    expect(await page.inputValue("input[name=name]")).toBe("web-9");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "create-windows");

    await page.check("#image-debian-13");
    await page.check("#region-ank1");
    await page.waitForSelector("#check-result .blockers >> text=Region ank1 is in maintenance");
    await page.check("#region-ist1");
    await page.fill("input[name=name]", "reports");
    await page.waitForSelector(
      "#check-result .blockers >> text=A server named reports exists in region ist1",
    );
    await takeScreenshots(page, "create-blocked");
    expect(watched.complaints).toEqual([]);
  });

  /** Region ank1 has an image and is in maintenance. */
  async function closeAnkara(): Promise<void> {
    const { app, operator } = world.real;
    const { secret } = await done(operator.post("/regions/ank1/agent-tokens", { name: "ank1-a" }));
    await done(
      new ApiCaller(app, secret).post("/agent/health", {
        agent_version: "0.1.0",
        hypervisor: { kind: "proxmox", reachable: true },
        templates: [{ image: "debian-13", ok: true }],
      }),
    );
    await done(operator.patch("/regions/ank1", { maintenance: true }));
  }

  test("a key pasted into the form is added and chosen, and a wrong one is refused beside its field", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/servers/new`);
    await page.fill("input[name=name]", "web-1");
    await page.click("#add-key > summary");
    await page.fill("#field-new_key_name", "laptop");
    await page.fill("#field-new_key_text", "-----BEGIN OPENSSH PRIVATE KEY-----");
    await page.click("button[value=add-key]");
    await page.waitForSelector("#new_key_text-problem >> text=Is a private key");
    await page.fill("#field-new_key_text", publicKey);
    await page.click("button[value=add-key]");
    await page.waitForSelector("#access input[type=checkbox]:checked");
    expect(await page.inputValue("input[name=name]")).toBe("web-1");
    await page.waitForSelector("#check-result .ready");
    await page.click("#create-summary button[type=submit]");
    await page.waitForURL(/\/servers\/srv_/);
    const [server] = await world.real.list("/servers");
    const [key] = await world.real.list("/ssh-keys");
    expect([key.name, server.ssh_key_ids]).toEqual(["laptop", [key.id]]);
    expect(await page.locator(".secret").count()).toBe(0);
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });

  test("keys, networks, jobs and errors are shown without a finding of axe", async () => {
    const { ids } = await seedServers();
    const [failed] = await world.real.list(`/jobs?resource=${ids.reports}`);
    await signIn(page, world.url);
    const pages = {
      "ssh-keys": "/ssh-keys",
      "ssh-key-new": "/ssh-keys/new",
      networks: "/networks",
      "network-create": "/networks/new",
      jobs: "/jobs",
      job: `/jobs/${failed.id}`,
      "server-failed": `/servers/${ids.reports}`,
      "server-protected": `/servers/${ids["shop-web-1"]}`,
      "not-found": "/servers/srv_nothing",
    };
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(world.url + path);
      expect(await accessibilityProblems(page), name).toEqual([]);
      await takeScreenshots(page, name);
    }
    expect(await page.textContent("h1")).toBe("There is nothing here");
    await page.goto(`${world.url}/ssh-keys`);
    await page.click("summary[aria-label='Delete laptop']");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.click(".confirm[open] button[type=submit]");
    await page.waitForSelector("text=The key is deleted");
    await page.goto(`${world.url}/networks`);
    await page.click(".panel a[href$='/subnets/new']");
    await page.waitForURL("**/subnets/new");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.fill("input[name=name]", "mgmt");
    await page.check("input[value=mgmt]");
    await page.click("form[action$='/subnets/new'] button[type=submit]");
    await page.waitForSelector("text=The subnet is created");
    await page.goto(`${world.url}/servers/${ids.reports}`);
    await page.click("form[action$='/retry'] button");
    await page.waitForSelector("text=The job is queued again");
    expect(complaintsBeyond(watched, 404)).toEqual([]);
  });

  test("when the API is unreachable the page stays, is marked as old, and recovers by itself", async () => {
    await seedServers();
    await signIn(page, world.url);
    world.api.away = true;
    await page.waitForSelector("#stale-banner:not([hidden])");
    expect(await page.locator("#server-list tbody tr").count()).toBe(6);
    await takeScreenshots(page, "servers-stale");
    world.api.away = false;
    await page.waitForSelector("#stale-banner", { state: "hidden" });

    await page.goto(`${world.url}/ssh-keys/new`);
    await page.fill("#field-name", "second");
    await page.fill("#field-public_key", publicKey.replace("AGNd", "AGNe"));
    world.api.away = true;
    await page.click(".form button[type=submit]");
    await page.waitForSelector("h1 >> text=The API does not answer");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "api-away");
    world.api.away = false;
    await page.click(".error-page form button");
    await page.waitForSelector("text=The key is added");
    expect((await world.real.list("/ssh-keys")).map(({ name }) => name)).toEqual(["second", "laptop"]);
    expect(complaintsBeyond(watched, 503)).toEqual([]);
  });

  test("the theme changes in place and stays; the language is the browser's until another is chosen", async () => {
    watched = await openPage(browser, { locale: "tr-TR" });
    page = watched.page;
    await seedServers();
    await signIn(page, world.url);
    expect(await page.textContent("h1")).toBe("Sunucular");
    expect(await page.textContent("#server-list")).toContain("kuruluyor");
    await page.evaluate("window.stayed = true");
    await page.click(".account > summary");
    await takeScreenshots(page, "account-menu");
    await page.click(".account-menu button[value=dark]");
    await page.waitForSelector("html[data-theme=dark]");
    expect(await page.evaluate("window.stayed")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.waitForSelector("button[value=dark][aria-pressed=true]");
    await page.reload();
    expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    await takeScreenshots(page, "servers-turkish");
    await page.goto(`${world.url}/servers/new?name=web-tr`);
    await takeScreenshots(page, "create-turkish");
    await page.click(".account > summary");
    await page.click(".account-menu button[value=en]");
    await page.waitForSelector("h1 >> text=Create server");
    expect(watched.complaints).toEqual([]);
  });

  test("usage and quotas are shown by month, and can be downloaded as files", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/usage`);
    await page.waitForSelector("text=Nothing ran in this month");
    expect(await accessibilityProblems(page)).toEqual([]);
    await seedServers();
    const limits = { vcpu: 12 };
    await done(world.real.operator.put(`/organisations/${world.facts.acme.id}/quotas`, { limits }));
    await page.goto(`${world.url}/usage`);
    expect(await page.locator(".day-bars").count()).toBe(4);
    await page.waitForSelector("th >> text=shop-web-1");
    expect(await page.textContent(".quotas")).toContain("12 of 12");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "usage");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.click("a[href^='/usage/export.csv']"),
    ]);
    expect(file.suggestedFilename()).toBe("usage.csv");
    await page.click("a[rel=prev]");
    await page.waitForURL(/month=\d{4}-\d\d/);
    await page.waitForSelector("a[rel=next]");
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("a server can be created without JavaScript", async () => {
    watched = await openPage(browser, { javaScriptEnabled: false });
    page = watched.page;
    await signIn(page, world.url);
    await page.click("main a[href='/servers/new']");
    await page.check("#image-windows-2025");
    await page.click(".without-script[value=check]");
    await page.waitForSelector("#package-s:disabled", { state: "attached" });
    await page.check("#package-l");
    await page.fill("input[name=name]", "win-1");
    await page.click("#create-summary button[type=submit]");
    await page.waitForURL(/\/servers\/srv_/);
    expect(await page.textContent("#console-password")).toMatch(madePassword);
    expect(await world.real.list("/servers")).toMatchObject([{ name: "win-1", deletion: null }]);
    await page.click(".tabs a[href$='/settings']");
    await page.fill("#confirm-name", "something-else");
    await page.click("form[action$='/delete'] button[type=submit]");
    await page.waitForSelector("text=Nothing was done");
    expect(await world.real.list("/servers")).toMatchObject([{ name: "win-1", deletion: null }]);
  });

  /** An address whose guest learns of it at its next start, a free one, and a free one of version 6. */
  async function haveAddresses(): Promise<void> {
    const { acme, agent, operator } = world.real;
    const body = { name: "web-1", region: "ist1", image: "ubuntu-24.04", package: "s" };
    const { server } = await done(acme.post("/servers", body));
    await agent.work();
    const six = { region: "ist1", name: "six", gateway: "2001:db8::1", prefix_length: 64 };
    const pool = await done(operator.post("/ip-pools", six));
    await done(operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: "2001:db8::/120" }));
    const allocation = { organisation_id: world.facts.acme.id, addresses: ["2001:db8::10"] };
    await done(operator.post(`/ip-pools/${pool.id}/allocations`, allocation));
    await done(acme.post("/public-ips", { region: "ist1", version: 6 }));
    await done(acme.post("/public-ips", { region: "ist1", address: "203.0.113.11" }));
    const attached = { region: "ist1", address: "203.0.113.10", ptr: "web.example.org" };
    const { id } = await done(acme.post("/public-ips", attached));
    await done(acme.post(`/public-ips/${id}/attach`, { server_id: server.id }));
    const job = await agent.take("PublicIpAttach");
    const observed = { power_state: "on", public_network: "next_boot" } as const;
    await agent.end(job, { status: "succeeded", observed });
  }

  test("public addresses show which actions are unavailable and why", async () => {
    await signIn(page, world.url);
    await haveAddresses();
    await page.goto(`${world.url}/public-ips`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "public-ips");
    await page.click("text=203.0.113.10");
    await page.waitForSelector("text=The guest does not know the address yet");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "public-ip");
    await page.click(".tabs a[href$='/settings']");
    await page.waitForSelector("#danger");
    expect(await page.isDisabled("#danger button")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "public-ip-settings");
    await page.goto(`${world.url}/public-ips/new`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "public-ip-new");
  });
});
