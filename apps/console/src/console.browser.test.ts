import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  complaintsBeyond,
  openBrowser,
  openPage,
  signIn,
  signInAs,
  takeScreenshots,
  type WatchedPage,
} from "./testing/browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { fakePublicIp } from "./testing/fake-public-ips.ts";
import { fakeJob, fakeNetwork, fakeServer, fakeSshKey, fakeSubnet } from "./testing/fake-records.ts";
import { fakeDrift } from "./testing/fake-regions.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

const publicKey =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";

describe.skipIf(part.missing)("the console in a browser", { timeout: 120_000 }, () => {
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
    watched = await openPage(browser, { reducedMotion: "no-preference" });
    page = watched.page;
  });
  afterEach(async () => {
    await watched.context.close();
    await world.stop();
    expect(world.api.defects).toEqual([]);
  });

  async function createServer(name: string): Promise<string> {
    await page.goto(`${world.url}/servers/new`);
    await page.fill("input[name=name]", name);
    await page.waitForSelector("#check-result .ready");
    await page.click("#create-summary button[type=submit]");
    await page.waitForURL(/\/servers\/srv_/);
    return page.url().split("/").at(-1) ?? "";
  }

  test("a person signs in, creates a server, follows it live, deletes it and cancels the deletion", async () => {
    await signIn(page, world.url);
    const id = await createServer("web-1");

    const password = await page.textContent("#console-password");
    expect(password).toBe("Galata-7f3k-Kule-92xm");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-password");
    await page.reload();
    expect(await page.content()).not.toContain(password);

    const { state } = world.api;
    const jobId = state.server(id)?.job_id ?? "";
    state.step(jobId, "observe", "look_up_vm", 5);
    state.step(jobId, "apply", "clone", 40, "clone of template 9000 to VM 20000");
    await page.waitForSelector(".phase[data-state=busy] >> text=Apply");
    expect(await page.textContent(".steps")).toContain("look up vm");
    await takeScreenshots(page, "server-creating");
    state.step(jobId, "verify", "read_back", 95);
    state.succeed(jobId);
    await page.waitForSelector("#resource-live .status[data-tone=good] >> text=running");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-running");

    await page.click(".tabs a[href$='/settings']");
    const deleteButton = page.locator("form[action$='/delete'] button[type=submit]");
    expect(await deleteButton.isDisabled()).toBe(true);
    await page.fill("#confirm-name", "web-1");
    await deleteButton.click();
    await page.waitForSelector(".pending time");
    expect(await page.textContent(".pending time")).toMatch(/^2 days, 23 hours$/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-pending-deletion");

    await page.click(".pending button[type=submit]");
    await page.waitForSelector("text=The deletion is undone");
    state.succeed(state.server(id)?.job_id ?? "");
    await page.waitForSelector("#resource-live .status[data-tone=good] >> text=running");
    expect(watched.complaints).toEqual([]);
  });

  async function seedServers(): Promise<void> {
    const { state } = world.api;
    const network = fakeNetwork({ name: "default", region: "ist1" }, true);
    const subnet = fakeSubnet({ name: "app", tier: "app", cidr: "10.0.0.0/24" }, network);
    const data = fakeSubnet({ name: "db", tier: "data", cidr: "10.0.9.0/24" }, network);
    network.subnets.push(
      { id: subnet.id, name: "app", tier: "app", cidr: subnet.cidr },
      { id: data.id, name: "db", tier: "data", cidr: data.cidr },
    );
    state.networks.push(network);
    state.subnets.push(subnet, data);
    state.sshKeys.push(fakeSshKey({ name: "laptop", public_key: publicKey }));
    const plans = [
      ["shop-web-1", "running"],
      ["shop-web-2", "running"],
      ["shop-worker", "creating"],
      ["build-runner", "stopped"],
      ["reports", "error"],
      ["old-mail", "pending_deletion"],
    ] as const;
    for (const [index, [name, status]] of plans.entries()) {
      const server = fakeServer(
        {
          name,
          image: index === 3 ? "windows-2025" : "ubuntu-24.04",
          package: index === 3 ? "l" : "m",
          start: true,
        },
        network,
        index,
      );
      state.servers.push({
        ...server,
        status,
        protection: { delete: index === 0, rebuild: false },
        created_at: new Date(Date.now() - (8 - index) * 7.3 * 3600_000).toISOString(),
      });
      const job = fakeJob("ServerCreate", server.id, index === 3 ? "ci" : "Ada Lovelace");
      state.jobs.unshift(job);
      if (status === "creating") {
        state.changeServer(server.id, { job_id: job.id });
        state.step(job.id, "apply", "clone", 40);
      } else if (status === "error") {
        state.step(job.id, "apply", "clone", 30, "clone of template 9000 to VM 20004");
        state.fail(job.id, {
          code: "template_missing",
          message: "The template of Ubuntu 24.04 LTS is missing in this region.",
          step: "clone",
          retryable: true,
        });
      } else {
        state.step(job.id, "verify", "read_back", 90);
        state.succeed(job.id);
        state.changeServer(server.id, { status });
      }
    }
  }

  test("an out-of-date or changed server is marked, and operators see all regions", async () => {
    const [ada] = world.api.state.users;
    const grace = world.api.state.users.find(({ email }) => email === "grace@example.org");
    if (ada !== undefined && grace !== undefined)
      world.api.state.users[0] = { ...ada, permissions: [...ada.permissions, ...grace.permissions] };
    await seedServers();
    await signInAs(page, world.url, "ada@example.org", "correct horse");
    await page.waitForURL("**/operator");
    const server = world.api.state.servers[0];
    if (server === undefined) throw new Error("no server");
    world.api.state.changeServer(server.id, {
      observation: "stale",
      observed_at: new Date(Date.now() - 312_000).toISOString(),
      guest: {
        agent: true,
        cloud_init: "done",
        os: "Ubuntu 24.04.1 LTS",
        hostname: server.name,
        addresses: ["10.0.0.5", "fe80::84b:75ff:fe00:64"],
        boot_at: new Date(Date.now() - 86_400_000).toISOString(),
      },
      drift: {
        kind: "changed",
        since: new Date(Date.now() - 3_600_000).toISOString(),
        differences: [{ field: "memory_mb", wanted: "4096", seen: "512" }],
      },
    });
    await page.goto(`${world.url}/servers/${server.id}`);
    await page.waitForSelector("#stale-server");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "server-seen");
    for (const [index, kind] of (["changed", "missing", "foreign", "extra"] as const).entries())
      world.api.state.drift.push(fakeDrift(kind, 20_001 + index));
    await page.click(".sections > a[href='/operator']");
    await page.waitForURL("**/operator");
    await page.click(".tabs a[href='/operator/regions']");
    await page.waitForSelector("#region-ist1");
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "operator-regions");
    expect(watched.complaints).toEqual([]);
  });

  test("the list follows statuses without a reload, and keeps focus, typed text and scroll", async () => {
    await seedServers();
    await signIn(page, world.url);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takeScreenshots(page, "servers");
    const creating = world.api.state.servers.find(({ name }) => name === "shop-worker");
    await page.setViewportSize({ width: 1360, height: 420 });
    await page.focus(`#open-${creating?.id}`);
    await page.evaluate("scrollTo(0, 60)");
    const marked = await page.evaluate(`document.getElementById("${creating?.id}").marked = true`);
    expect(marked).toBe(true);

    world.api.state.succeed(creating?.job_id ?? "");
    await page.waitForSelector(`#${creating?.id} .status[data-tone=good]`);
    expect(await page.evaluate("document.activeElement.id")).toBe(`open-${creating?.id}`);
    expect(await page.evaluate("scrollY")).toBe(60);
    // The same element: changed in place, not replaced.
    expect(await page.evaluate(`document.getElementById("${creating?.id}").marked`)).toBe(true);
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
    await page.waitForSelector("#check-result .blockers >> text=Region ank1 is not reachable");
    await page.fill("input[name=name]", "reports");
    await page.waitForSelector("#check-result .blockers >> text=A server called reports exists already");
    await takeScreenshots(page, "create-blocked");
    expect(watched.complaints).toEqual([]);
  });

  test("a key pasted into the form is added and chosen, and a wrong one is refused beside its field", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/servers/new`);
    await page.fill("input[name=name]", "web-1");
    await page.click("#add-key > summary");
    await page.fill("#field-new_key_name", "laptop");
    await page.fill("#field-new_key_text", "-----BEGIN OPENSSH PRIVATE KEY-----");
    await page.click("button[value=add-key]");
    await page.waitForSelector("#new_key_text-problem >> text=Is not a public key");
    await page.fill("#field-new_key_text", publicKey);
    await page.click("button[value=add-key]");
    await page.waitForSelector("#access input[type=checkbox]:checked");
    expect(await page.inputValue("input[name=name]")).toBe("web-1");
    await page.waitForSelector("#check-result .ready");
    await page.click("#create-summary button[type=submit]");
    await page.waitForURL(/\/servers\/srv_/);
    expect(world.api.state.servers[0]?.ssh_key_ids).toEqual([world.api.state.sshKeys[0]?.id]);
    expect(await page.locator(".secret").count()).toBe(0);
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });

  test("keys, networks, jobs and errors are shown without a finding of axe", async () => {
    await seedServers();
    await signIn(page, world.url);
    const failed = world.api.state.servers.find(({ status }) => status === "error");
    const pages = {
      "ssh-keys": "/ssh-keys",
      "ssh-key-new": "/ssh-keys/new",
      networks: "/networks",
      "network-create": "/networks/new",
      jobs: "/jobs",
      job: `/jobs/${world.api.state.jobs.find(({ resource }) => resource.id === failed?.id)?.id}`,
      "server-failed": `/servers/${failed?.id}`,
      "server-protected": `/servers/${world.api.state.servers[0]?.id}`,
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
    await page.goto(`${world.url}/servers/${failed?.id}`);
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
    expect(world.api.state.sshKeys.map(({ name }) => name)).toContain("second");
    expect(complaintsBeyond(watched, 503)).toEqual([]);
  });

  test("the theme changes in place and stays; the language is the browser's until another is chosen", async () => {
    await watched.context.close();
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
    await watched.context.close();
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
    expect(await page.textContent("#console-password")).toBe("Galata-7f3k-Kule-92xm");
    expect(world.api.state.servers.map(({ name }) => name)).toEqual(["win-1"]);
    await page.click(".tabs a[href$='/settings']");
    await page.fill("#confirm-name", "something-else");
    await page.click("form[action$='/delete'] button[type=submit]");
    await page.waitForSelector("text=Nothing was done");
    expect(world.api.state.servers[0]?.deletion).toBe(null);
  });

  test("public addresses show which actions are unavailable and why", async () => {
    await signIn(page, world.url);
    const server = fakeServer(
      { name: "web-1", image: "ubuntu-24.04", package: "s" },
      fakeNetwork({ name: "default", region: "ist1" }, true),
      0,
    );
    world.api.state.servers.push(server);
    world.api.state.publicIps.push(
      { ...fakePublicIp("203.0.113.10", server), requires_reboot: true, ptr: "web.example.org" },
      fakePublicIp("203.0.113.11"),
      fakePublicIp("2001:db8::10"),
    );
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
